/** Failures of Durable Objects that cannot be called, or cannot write. */
import { diskSpace } from "./disk-space.ts";
import { AiError, type FailureKey } from "./errors.ts";
import { DISK_UNWRITABLE } from "./failures.ts";

const RETRY_SECONDS = 10;

/** The operator must make space, or make the folder of the accounts writable. */
const diskFull = (cause: unknown, description?: string): AiError | undefined =>
	diskSpace.isLow ? new AiError("diskFull", description, { cause, retryAfter: RETRY_SECONDS }) : undefined;

/** 7009 (502). 503 if the disk of the gateway is full or cannot be written. */
export const objectUnavailable = (cause: unknown): AiError =>
	diskFull(cause) ?? new AiError("ledgerUnavailable", undefined, { cause });

/**
 * Calls an object that stores anything but accounts. Throws the method's `AiError`; `key` (502) if the object cannot be called, or 503 if
 * the disk of the gateway is full or cannot be written.
 */
export async function callStorage<Result>(
	method: () => Promise<Result>,
	key: FailureKey = "storageUnavailable",
): Promise<Result> {
	try {
		return await method();
	} catch (cause) {
		if (cause instanceof AiError) throw cause;
		const full = diskFull(cause, `${DISK_UNWRITABLE}: its storage cannot be read or written`);
		throw full ?? new AiError(key, undefined, { cause });
	}
}

/** Whether the object of an account could not be called, or could not write. */
export const isObjectFailure = ({ key }: Pick<AiError, "key">): boolean =>
	key === "ledgerUnavailable" || key === "diskFull";

/** Before something is stored that is no account. `what`: in the plural. Throws 7009 (503) if the remaining space is for the accounts. */
export function requireDiskSpace(what: string, hint = ""): void {
	if (diskSpace.mayWrite()) return;
	throw new AiError("diskFull", `${DISK_UNWRITABLE}: it stores no ${what}${hint}`, {
		retryAfter: RETRY_SECONDS,
	});
}
