/**
 * The classes of Durable Objects, besides `Account`, in which an account may have data that a report reads. An account's object records each
 * class before its first use, so that a report about many accounts opens, and creates, no object of an account that has none.
 */
export const REPORTED_OBJECTS = [
	"BLOBS",
	"JOB_STORE",
	"RESPONSE_STORE",
	"SEARCH_REGISTRY",
	"VECTOR_REGISTRY",
] as const;

/** The binding of a class with one object for each account, which has the name of the account. */
export type ReportedObject = (typeof REPORTED_OBJECTS)[number];

export const isReported = (binding: string): binding is ReportedObject =>
	(REPORTED_OBJECTS as readonly string[]).includes(binding);
