/** FNV-1a over UTF-16 units: a 32-bit hash that is the same in every process. Not for secrets. */
export const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** Of the units from `start` up to `end`. */
export function fnv1a(text: string, offset = FNV_OFFSET, start = 0, end = text.length): number {
	let hash = offset;
	for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
	return hash >>> 0;
}
