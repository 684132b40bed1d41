/**
 * Models of llama-server with a few random numbers: a chat model whose tokens are bytes, so that it can write any text that a grammar demands,
 * with a template that has tools; and the projector of Gemma 3 (SigLIP) for its images. Their shapes are true, and their answers mean nothing.
 */
import { type Gguf, writeGguf } from "./gguf.ts";
import { RandomWeights } from "./random-weights.ts";

const WIDTH = 64;
const INNER = 128;
const HEADS = 4;
const KEY_HEADS = 2;
const LAYERS = 2;
const CONTEXT = 8_192;
const SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<start_of_image>", "<end_of_image>"];
/** As in Qwen. */
const CALL = "<tool_call>";
const CONTROL = 3;
const WRITTEN = 4;
const NORMAL = 1;
/** The character of the line break, the last token before an answer. */
const LINE_BREAK = "Ċ";
/** So that no random number of another token is larger. */
const FORCE = 0.5;
const BYTES = 256;
/** Bytes that stand for themselves in the vocabulary of GPT-2 (https://github.com/openai/gpt-2/blob/master/src/encoder.py). */
const PRINTABLE = [
	[33, 126],
	[161, 172],
	[174, 255],
] as const;

/** The character of each byte. */
function characters(): string[] {
	let next = BYTES;
	return Array.from({ length: BYTES }, (_, byte) =>
		String.fromCodePoint(PRINTABLE.some(([from, to]) => byte >= from && byte <= to) ? byte : next++),
	);
}

/** A system message with the functions, calls and results in the form of Qwen 2.5 and Hermes 2. */
const TEMPLATE = `{%- if tools %}
    {{- '<|im_start|>system\\n# Tools\\n\\nYou may call one or more functions.\\n\\n<tools>' }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\\n<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call><|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls %}
        {{- '<|im_start|>assistant' }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
`;

/** The tokens before an answer to one message, which is ASCII without "he". */
export function promptTokens(message: string): number[] {
	const [begin, end] = [SPECIAL.indexOf("<|im_start|>"), SPECIAL.indexOf("<|im_end|>")];
	const written = (text: string): number[] => [...Buffer.from(text)].map((byte) => SPECIAL.length + byte);
	return [begin, ...written(`user\n${message}`), end, ...written("\n"), begin, ...written("assistant\n")];
}

/** Absent: more than a byte. */
export function byteOf(token: number): number | undefined {
	const byte = token - SPECIAL.length;
	return byte >= 0 && byte < BYTES ? byte : undefined;
}

export const tinyChat = (options: { calls?: boolean } = {}): Buffer => writeGguf(tinyChatModel(options));

/** `calls`: its answers begin with the mark of a call of a function. */
export function tinyChatModel({ calls = false } = {}): Gguf {
	const tokens = [...SPECIAL, ...characters(), "he", CALL];
	const weights = new RandomWeights();
	const read = weights.random("token_embd", [WIDTH, tokens.length], 1);
	const written = weights.random("output", [WIDTH, tokens.length]);
	const follow = (before: string, after: string): void => {
		const [from, to] = [tokens.indexOf(before) * WIDTH, tokens.indexOf(after) * WIDTH];
		for (let at = 0; at < WIDTH; at++) written[to + at] = (read[from + at] ?? 0) * FORCE;
	};
	if (calls) {
		follow(LINE_BREAK, CALL);
		follow(CALL, LINE_BREAK);
	}
	weights.constant("output_norm.weight", WIDTH, 1);
	for (let layer = 0; layer < LAYERS; layer++) {
		const name = `blk.${layer}`;
		const keyWidth = (WIDTH / HEADS) * KEY_HEADS;
		for (const norm of ["attn_norm", "ffn_norm"]) weights.constant(`${name}.${norm}.weight`, WIDTH, 1);
		weights.random(`${name}.attn_q`, [WIDTH, WIDTH]);
		weights.random(`${name}.attn_k`, [WIDTH, keyWidth]);
		weights.random(`${name}.attn_v`, [WIDTH, keyWidth]);
		weights.random(`${name}.attn_output`, [WIDTH, WIDTH]);
		weights.random(`${name}.ffn_gate`, [WIDTH, INNER]);
		weights.random(`${name}.ffn_up`, [WIDTH, INNER]);
		weights.random(`${name}.ffn_down`, [INNER, WIDTH]);
	}
	return {
		fields: {
			"general.architecture": "llama",
			"llama.context_length": CONTEXT,
			"llama.embedding_length": WIDTH,
			"llama.block_count": LAYERS,
			"llama.feed_forward_length": INNER,
			"llama.attention.head_count": HEADS,
			"llama.attention.head_count_kv": KEY_HEADS,
			"llama.attention.layer_norm_rms_epsilon": { float: 1e-5 },
			"llama.rope.dimension_count": WIDTH / HEADS,
			"llama.vocab_size": tokens.length,
			"tokenizer.ggml.model": "gpt2",
			"tokenizer.ggml.pre": "gpt-2",
			"tokenizer.ggml.tokens": tokens,
			"tokenizer.ggml.token_type": tokens.map((token, at) =>
				at < SPECIAL.length ? CONTROL : token === CALL ? WRITTEN : NORMAL,
			),
			"tokenizer.ggml.merges": ["h e"],
			"tokenizer.ggml.bos_token_id": 1,
			"tokenizer.ggml.eos_token_id": 2,
			"tokenizer.ggml.add_bos_token": false,
			"tokenizer.chat_template": TEMPLATE,
		},
		tensors: weights.tensors,
	};
}

const PATCH = 14;
const IMAGE = 112;
const VISION_WIDTH = 32;
const VISION_INNER = 64;
/** Patches of a side that become one token. */
export const MERGED = 4;
/** Of any image, because it is resized. */
export const IMAGE_TOKENS = (IMAGE / PATCH / MERGED) ** 2;

export function tinyProjector(): Buffer {
	const weights = new RandomWeights();
	weights.random("v.patch_embd", [PATCH, PATCH, 3, VISION_WIDTH], 0.1);
	weights.constant("v.patch_embd.bias", VISION_WIDTH, 0);
	weights.random("v.position_embd", [VISION_WIDTH, (IMAGE / PATCH) ** 2], 0.1);
	const norm = (name: string): void => {
		weights.constant(`${name}.weight`, VISION_WIDTH, 1);
		weights.constant(`${name}.bias`, VISION_WIDTH, 0);
	};
	norm("v.post_ln");
	for (const part of ["attn_q", "attn_k", "attn_v", "attn_out"]) {
		weights.random(`v.blk.0.${part}`, [VISION_WIDTH, VISION_WIDTH]);
		weights.constant(`v.blk.0.${part}.bias`, VISION_WIDTH, 0);
	}
	norm("v.blk.0.ln1");
	norm("v.blk.0.ln2");
	weights.random("v.blk.0.ffn_up", [VISION_WIDTH, VISION_INNER]);
	weights.constant("v.blk.0.ffn_up.bias", VISION_INNER, 0);
	weights.random("v.blk.0.ffn_down", [VISION_INNER, VISION_WIDTH]);
	weights.constant("v.blk.0.ffn_down.bias", VISION_WIDTH, 0);
	weights.random("mm.input_projection", [WIDTH, VISION_WIDTH]);
	weights.constant("mm.soft_emb_norm.weight", VISION_WIDTH, 1);
	return writeGguf({
		fields: {
			"general.architecture": "clip",
			"general.type": "mmproj",
			"clip.has_vision_encoder": true,
			"clip.projector_type": "gemma3",
			"clip.use_gelu": true,
			"clip.vision.image_size": IMAGE,
			"clip.vision.patch_size": PATCH,
			"clip.vision.embedding_length": VISION_WIDTH,
			"clip.vision.feed_forward_length": VISION_INNER,
			"clip.vision.block_count": 1,
			"clip.vision.attention.head_count": 2,
			"clip.vision.attention.layer_norm_epsilon": { float: 1e-6 },
			"clip.vision.projection_dim": WIDTH,
			"clip.vision.image_mean": { floats: [0.5, 0.5, 0.5] },
			"clip.vision.image_std": { floats: [0.5, 0.5, 0.5] },
		},
		tensors: weights.tensors,
	});
}
