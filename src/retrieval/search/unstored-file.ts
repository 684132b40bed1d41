/** Files of items that could not be stored. */
import type { Storage } from "../../storage/storage.ts";
import type { OpenInstance } from "./client/search-instances.ts";
import { filesOf, type SearchItem } from "./records.ts";

/**
 * Deletes the file of an item whose call to the instance's object failed. The object may have the item, because the answer may have been lost:
 * then the file stays, and also if the object cannot be asked. Such a file is deleted with the instance.
 */
export async function deleteUnstored(
	{ content, key }: Pick<SearchItem, "content" | "key">,
	{ account, call, record }: OpenInstance,
	storage: Pick<Storage, "blobs">,
): Promise<void> {
	const isStored = await call(async (object) => (await object.itemByKey(key))?.content === content).catch(
		() => true,
	);
	if (!isStored)
		await storage
			.blobs(account)
			.delete(filesOf(record.object) + content)
			.catch(() => {});
}
