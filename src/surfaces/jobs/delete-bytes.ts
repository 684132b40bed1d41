/** Deletions of files, batches and adapters that requests ask for. */
import { toAiError } from "../../core/errors.ts";
import { fileKey } from "../../jobs/records.ts";
import type { AppCall } from "../route.ts";

type DeletingCall = Pick<AppCall, "caller" | "id" | "services">;

/** Deletes bytes that requests no longer find. If it fails, the alarm of the account's object repeats it. */
export async function deleteBytes(
	deletion: () => Promise<unknown>,
	{ id, services }: Pick<DeletingCall, "id" | "services">,
): Promise<void> {
	await deletion().catch((error: unknown) => services.log(toAiError(error), id));
}

/** Returns false if a batch that has not ended reads the file. */
export async function deleteFile(id: string, call: DeletingCall): Promise<boolean> {
	const { jobs, storage } = call.services;
	const { account } = call.caller;
	if (!(await jobs.files(account, (files) => files.hide(id)))) return false;
	await deleteBytes(async () => {
		await storage.blobs(account).delete(fileKey(id));
		await jobs.files(account, (files) => files.forget(id));
	}, call);
	return true;
}
