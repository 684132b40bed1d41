/** How batches run. From `JOBS`. */

export interface BackendJobs {
	/** The part of the price that the account pays. */
	discount: number;
	/** Lines that run at the same time at the backend, of all batches of a process. */
	concurrency: number;
}

export interface JobSettings {
	/** By the name of the backend. */
	backends: ReadonlyMap<string, BackendJobs>;
	others: BackendJobs;
	/** Minutes of a UTC day between which lines start. `from` may be after `to`: over midnight. Absent: always. */
	hours?: { from: number; to: number };
}

export const jobsOf = ({ backends, others }: JobSettings, backend: string): BackendJobs =>
	backends.get(backend) ?? others;
