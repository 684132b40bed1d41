/** The files of the items of an instance. */
import { toAiError } from "../../core/errors.ts";
import type { OpenInstance } from "./client/search-instances.ts";
import { filesOf, type SearchItem } from "./records.ts";
import type { SearchRoomServices } from "./services.ts";

type FileServices = Pick<SearchRoomServices, "log" | "storage">;

/** A file that cannot be deleted now is deleted with the instance. `content`: empty or absent if the item has no file. */
export async function deleteFile(
	content: string | undefined,
	{ account, record }: OpenInstance,
	{ log, storage }: FileServices,
): Promise<void> {
	if (!content) return;
	await storage
		.blobs(account)
		.delete(filesOf(record.object) + content)
		.catch((thrown) => log(toAiError(thrown), ""));
}

/**
 * Deletes the file of an item whose call to the instance's object failed. The object may have the item, because the answer may have been lost:
 * then the file stays, and also if the object cannot be asked. Such a file is deleted with the instance.
 */
export async function deleteUnstored(
	{ content, key }: Pick<SearchItem, "content" | "key">,
	instance: OpenInstance,
	services: FileServices,
): Promise<void> {
	const isStored = await instance
		.call(async (object) => (await object.itemByKey(key))?.content === content)
		.catch(() => true);
	if (!isStored) await deleteFile(content, instance, services);
}
