/** The setting of an S3-compatible store. */

export interface S3Setting {
	/** Without a trailing slash. */
	endpoint: string;
	region: string;
	bucket: string;
	/** Before all names. */
	prefix: string;
	/** `{endpoint}/{bucket}/{name}`. Otherwise the bucket is the first label of the host. */
	pathStyle: boolean;
	accessKeyId: string;
	secretAccessKey: string;
}

export interface S3Services {
	fetch: typeof fetch;
	wait(milliseconds: number): Promise<void>;
}
