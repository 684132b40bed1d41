/** Deletions in a store that may be down, or that may refuse some of them. */

/** Each call may wait for a store that does not answer. */
const DELETED_AT_ONCE = 10;

type OnFailure<Item> = (item: Item, thrown: unknown) => void;

/** Deletes all items by one call, and each by itself if that fails, so that only those remain that fail. */
export async function deleteTogether<Item>(
	items: readonly Item[],
	deletion: (items: readonly Item[]) => Promise<void>,
	onFailure: OnFailure<Item>,
): Promise<void> {
	if (items.length > 1) {
		try {
			await deletion(items);
			return;
		} catch {
			// The failure of each item is reported below.
		}
	}
	await deleteEach(items, (item) => deletion([item]), onFailure);
}

/** Deletes groups of items, until a group fails as a whole: the store is probably down. The items after it are not tried. */
export async function deleteEach<Item>(
	items: readonly Item[],
	deletion: (item: Item) => Promise<void>,
	onFailure: OnFailure<Item>,
): Promise<void> {
	const isDeleted = async (item: Item): Promise<boolean> => {
		try {
			await deletion(item);
			return true;
		} catch (thrown) {
			onFailure(item, thrown);
			return false;
		}
	};
	for (let at = 0; at < items.length; at += DELETED_AT_ONCE) {
		const deleted = await Promise.all(items.slice(at, at + DELETED_AT_ONCE).map(isDeleted));
		if (!deleted.includes(true)) return;
	}
}
