/**
 * Hashes of the blocks of a prompt's text. The hash of a block covers all text before it and a scope, so two prompts have equal
 * hashes as far as their beginnings are equal and their scopes are. 53 bits: a collision among a million blocks has a
 * probability of 1 in 18,000, and only costs a wrong estimate.
 */

/** About 512 tokens. */
export const BLOCK_CHARACTERS = 2_048;
/** Longer prompts are compared by their beginning only: 131,072 tokens. */
const MAX_BLOCKS = 256;

interface PromptHashes {
	/** One for each complete block. */
	blocks: number[];
	/** Covers the first texts, which a conversation keeps. */
	opening: number;
}

/**
 * @param scope prompts of different scopes never match: the account and the model, for example.
 * @param texts the prompt, in the order in which the engine reads it.
 * @param openingTexts how many of the texts every request of the same conversation begins with.
 */
export function hashPrompt(
	scope: string,
	texts: readonly string[],
	openingTexts = texts.length,
): PromptHashes {
	const blocks: number[] = [];
	const hash = new Hash();
	hash.add(scope, 0, scope.length);
	let missing = BLOCK_CHARACTERS;
	let opening = hash.value;
	for (const [i, text] of texts.entries()) {
		for (let start = 0; start < text.length && blocks.length < MAX_BLOCKS; ) {
			const end = Math.min(text.length, start + missing);
			hash.add(text, start, end);
			missing -= end - start;
			start = end;
			if (missing > 0) continue;
			blocks.push(hash.value);
			missing = BLOCK_CHARACTERS;
		}
		if (i < openingTexts) opening = hash.value;
	}
	return { blocks, opening };
}

/** A hash of a short text: 53 bits. */
export function hashText(text: string): number {
	const hash = new Hash();
	hash.add(text, 0, text.length);
	return hash.value;
}

/** Two multiplicative hashes of 32 bits over UTF-16 code units, with the final mix of MurmurHash3. */
class Hash {
	#a = 0x9e3779b1;
	#b = 0x85ebca77;

	add(text: string, start: number, end: number): void {
		let a = this.#a;
		let b = this.#b;
		for (let i = start; i < end; i++) {
			const unit = text.charCodeAt(i);
			a = Math.imul(a ^ unit, 0x01000193);
			b = Math.imul(b ^ unit, 0x5bd1e995);
			b ^= b >>> 15;
		}
		// Marks the end, so that two parts differ from one part with the same text.
		this.#a = Math.imul(a ^ 0x1ffff, 0x01000193);
		this.#b = b;
	}

	get value(): number {
		return (mixed(this.#a) & 0x1fffff) * 2 ** 32 + mixed(this.#b ^ this.#a);
	}
}

function mixed(bits: number): number {
	let hash = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	return (hash ^ (hash >>> 16)) >>> 0;
}
