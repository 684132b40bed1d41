/** How batches run. From `JOBS`. */

export interface BackendJobs {
	/** The part of the price that the account pays. */
	discount: number;
	/** Lines that run at the same time at the backend, of all batches of a process. */
	concurrency: number;
}

/** Receives the events of batches. */
export interface Webhook {
	url: string;
	/** The key of its signatures. */
	secret: Uint8Array<ArrayBuffer>;
}

export interface JobSettings {
	/** By the name of the backend. */
	backends: ReadonlyMap<string, BackendJobs>;
	others: BackendJobs;
	/** Minutes of a UTC day between which lines start. `from` may be after `to`: over midnight. Absent: always. */
	hours?: { from: number; to: number };
	/** By account. `*`: of all others. */
	webhooks: ReadonlyMap<string, Webhook>;
}

export const jobsOf = ({ backends, others }: JobSettings, backend: string): BackendJobs =>
	backends.get(backend) ?? others;

export const webhookOf = ({ webhooks }: JobSettings, account: string): Webhook | undefined =>
	webhooks.get(account) ?? webhooks.get("*");
