/** Encoders of llama-server (BERT) with a few words and random numbers: of the width of bge-small, with a head that ranks. */
import type { Gguf } from "./gguf.ts";
import { RandomWeights } from "./random-weights.ts";

const WIDTH = 384;
const INNER = 96;
const HEADS = 12;
const LAYERS = 2;
const CONTEXT = 512;
const KINDS = 2;
const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const BEGIN = 2;
const END = 3;
/** Each one is a token. */
const WORDS = ["good", "bad", "cat", "dog", "sun", "moon"];
const START_OF_WORD = "▁";
const NORMAL = 1;
const CONTROL = 3;

const wordTokens = (text: string): number[] =>
	text.split(" ").map((word) => SPECIAL.length + WORDS.indexOf(word));

export const textTokens = (text: string): number[] => [BEGIN, ...wordTokens(text), END];

/** A query and a text, as llama-server joins them for a model without a mark of the end. */
export const pairTokens = (query: string, text: string): number[] => [
	...[BEGIN, ...wordTokens(query), END],
	...wordTokens(text),
];

/** `ranks`: with a head for rankings. */
export function tinyEncoder({ ranks = false } = {}): Gguf {
	const weights = new RandomWeights();
	const linear = (name: string, from: number, to: number): void => {
		weights.random(name, [from, to]);
		weights.around(`${name}.bias`, to, 0);
	};
	const norm = (name: string): void => {
		weights.around(`${name}.weight`, WIDTH, 1);
		weights.around(`${name}.bias`, WIDTH, 0);
	};
	weights.random("token_embd", [WIDTH, SPECIAL.length + WORDS.length], 1);
	weights.random("token_types", [WIDTH, KINDS], 1);
	weights.random("position_embd", [WIDTH, CONTEXT], 1);
	norm("token_embd_norm");
	for (let layer = 0; layer < LAYERS; layer++) {
		const name = `blk.${layer}`;
		for (const part of ["q", "k", "v", "output"]) linear(`${name}.attn_${part}`, WIDTH, WIDTH);
		norm(`${name}.attn_output_norm`);
		linear(`${name}.ffn_up`, WIDTH, INNER);
		linear(`${name}.ffn_down`, INNER, WIDTH);
		norm(`${name}.layer_output_norm`);
	}
	if (ranks) {
		linear("cls", WIDTH, WIDTH);
		linear("cls.output", WIDTH, 1);
	}
	return {
		fields: {
			"general.architecture": "bert",
			"bert.context_length": CONTEXT,
			"bert.embedding_length": WIDTH,
			"bert.feed_forward_length": INNER,
			"bert.block_count": LAYERS,
			"bert.attention.head_count": HEADS,
			"bert.attention.layer_norm_epsilon": { float: 1e-12 },
			"bert.attention.causal": false,
			"bert.pooling_type": 1,
			"tokenizer.ggml.model": "bert",
			"tokenizer.ggml.tokens": [...SPECIAL, ...WORDS.map((word) => START_OF_WORD + word)],
			"tokenizer.ggml.token_type": [...SPECIAL.map(() => CONTROL), ...WORDS.map(() => NORMAL)],
			"tokenizer.ggml.token_type_count": KINDS,
			"tokenizer.ggml.padding_token_id": 0,
			"tokenizer.ggml.unknown_token_id": 1,
			"tokenizer.ggml.bos_token_id": BEGIN,
			"tokenizer.ggml.cls_token_id": BEGIN,
			"tokenizer.ggml.seperator_token_id": END,
			"tokenizer.ggml.eos_token_id": END,
			"tokenizer.ggml.mask_token_id": 4,
		},
		tensors: weights.tensors,
	};
}
