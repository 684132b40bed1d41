/** FNV-1a over UTF-16 units: a 32-bit hash that is the same in every process. Not for secrets. */
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

export function fnv1a(text: string, offset = FNV_OFFSET): number {
	let hash = offset;
	for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), FNV_PRIME);
	return hash >>> 0;
}
