/**
 * Where the rows of accounts are. A place is the name of an `Account` object: that of a shard, which many accounts share, or that of
 * the account itself. The directory records the place of each account, so the number of shards may change: it decides about new
 * accounts only.
 */

/** Not part of an id of an account, so no account has the name of a shard. */
const SHARD = "shard/";

/** The object of a single account. */
export const ownPlace = (account: string): string => account;

export const isShard = (place: string): boolean => place.startsWith(SHARD);

/** The place of a new account. `shards`: 0 gives each account an object of its own. */
export const newPlace = (account: string, shards: number): string =>
	shards === 0 ? ownPlace(account) : `${SHARD}${hashOf(account) % shards}`;

/** FNV-1a: it only spreads the accounts. */
function hashOf(text: string): number {
	let hash = 0x811c9dc5;
	for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
	return hash;
}
