/** Bytes on the disk of the objects, from `LIMITS`. */
export interface KeptBytes {
	/** Logs of each gateway. */
	logBytes: number;
	/** Logs of all gateways of an account. */
	accountLogBytes: number;
	/** Cached answers of all gateways of an account. */
	accountCacheBytes: number;
	/** Resumable streams of all accounts. */
	runBytes: number;
	/** Free space that only the accounts may use. */
	diskReserveBytes: number;
}
