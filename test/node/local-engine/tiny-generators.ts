/** Models that generate text, of a few numbers: each next token depends on the token before it, and on what the encoder read. */
import { type Graph, type Weight, writeOnnx } from "./onnx.ts";
import type { Files } from "./tiny-models.ts";

/** A score that decides. */
const SURE = 20;

interface Chain {
	tokens: readonly string[];
	/** `"a b"`: the score of `b` after `a`. */
	next: Readonly<Record<string, number>>;
}

const IDS: Graph["inputs"][number]["dims"] = ["batch", "length"];
const CACHE: readonly string[] = ["decoder.key", "decoder.value", "encoder.key", "encoder.value"];

/** `bias`: what the encoder's state of one number for each token adds. */
function decoder({ tokens, next }: Chain): Buffer {
	const size = tokens.length;
	// The score of each token after each one, by the few pairs that have one.
	const pairs = Object.entries(next).map(([pair, score]) => {
		const [from = "", to = ""] = pair.split(" ");
		return { from: tokens.indexOf(from), to: tokens.indexOf(to), score };
	});
	const before = tokens.flatMap((_, id) => pairs.map(({ from }) => (from === id ? 1 : 0)));
	const after = pairs.flatMap(({ to, score }) => tokens.map((_, id) => (to === id ? score : 0)));
	const weights: Weight[] = [
		{ name: "before", dims: [size, pairs.length], data: before },
		{ name: "after", dims: [pairs.length, size], data: after },
		{ name: "axis_1", dims: [1], data: [1], isInteger: true },
		{ name: "outer", dims: [2], data: [1, 3], isInteger: true },
	];
	return writeOnnx({
		weights,
		nodes: [
			{ op: "Gather", inputs: ["before", "input_ids"], outputs: ["pairs"] },
			{ op: "MatMul", inputs: ["pairs", "after"], outputs: ["scores"] },
			{ op: "ReduceSum", inputs: ["encoder_hidden_states", "axis_1"], outputs: ["bias"] },
			{ op: "Add", inputs: ["scores", "bias"], outputs: ["logits"] },
			{ op: "Cast", inputs: ["input_ids"], outputs: ["numbers"], attributes: { to: 1 } },
			{ op: "Unsqueeze", inputs: ["numbers", "outer"], outputs: ["new_state"] },
			...["key", "value"].map((part) => ({
				...{ op: "Concat", attributes: { axis: 2 }, outputs: [`present.0.decoder.${part}`] },
				inputs: [`past_key_values.0.decoder.${part}`, "new_state"],
			})),
			{
				...{ op: "ReduceMean", inputs: ["encoder_hidden_states"], outputs: ["source"] },
				attributes: { axes: [2], keepdims: 1 },
			},
			{ op: "Unsqueeze", inputs: ["source", "axis_1"], outputs: ["source_state"] },
			...["key", "value"].map((part) => ({
				...{ op: "Identity", inputs: ["source_state"], outputs: [`present.0.encoder.${part}`] },
			})),
		],
		inputs: [
			{ name: "input_ids", isInteger: true, dims: IDS },
			{ name: "encoder_hidden_states", dims: ["batch", "source_length", size] },
			...CACHE.map((part) => ({ name: `past_key_values.0.${part}`, dims: ["batch", 1, `past_${part}`, 1] })),
		],
		outputs: [
			{ name: "logits", dims: [...IDS, size] },
			...CACHE.map((part) => ({ name: `present.0.${part}`, dims: ["batch", 1, `present_${part}`, 1] })),
		],
	});
}

const special = (content: string, id: number) => ({
	...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
});

function tokenizer(
	tokens: readonly string[],
	isSpecial: (token: string) => boolean,
	single: object[],
): string {
	return JSON.stringify({
		...{ version: "1.0", truncation: null, padding: null, normalizer: null },
		added_tokens: tokens.map(special).filter(({ content }) => isSpecial(content)),
		pre_tokenizer: { type: "BertPreTokenizer" },
		post_processor: {
			...{ type: "TemplateProcessing", single, pair: single },
			special_tokens: Object.fromEntries(tokens.map((id, at) => [id, { id, ids: [at], tokens: [id] }])),
		},
		decoder: { type: "WordPiece", prefix: "##", cleanup: true },
		model: {
			...{ type: "WordPiece", unk_token: "<unk>", continuing_subword_prefix: "##" },
			...{ max_input_chars_per_word: 100, vocab: Object.fromEntries(tokens.map((token, id) => [token, id])) },
		},
	});
}

const mark = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
const TEXT = { Sequence: { id: "A", type_id: 0 } };

const WORDS = ["<s>", "<pad>", "</s>", "<unk>", "__en__", "__fr__", "good", "cat", "bon", "chat"];
const BEGIN = { bon: 2, chat: 1 };
/** Knows two words: "good cat" is "bon chat". */
const TRANSLATION: Chain = {
	tokens: WORDS,
	next: {
		...Object.fromEntries(
			["<s>", "</s>", "__fr__", "__en__"].flatMap((from) =>
				Object.entries(BEGIN).map(([to, score]) => [`${from} ${to}`, score]),
			),
		),
		...{ "bon </s>": 3, "bon chat": 1, "bon bon": -SURE },
		...{ "chat </s>": 3, "chat chat": -SURE, "chat bon": -SURE },
	},
};
const DICTIONARY: Readonly<Record<string, string>> = { good: "bon", cat: "chat" };

function textEncoder(tokens: readonly string[]): Buffer {
	const rows = tokens.flatMap((from) => tokens.map((to) => (DICTIONARY[from] === to ? 5 : 0)));
	return writeOnnx({
		weights: [{ name: "words", dims: [tokens.length, tokens.length], data: rows }],
		nodes: [{ op: "Gather", inputs: ["words", "input_ids"], outputs: ["last_hidden_state"] }],
		inputs: ["input_ids", "attention_mask"].map((name) => ({ name, isInteger: true, dims: IDS })),
		outputs: [{ name: "last_hidden_state", dims: [...IDS, tokens.length] }],
	});
}

const SIZES = {
	...{
		d_model: 1,
		encoder_layers: 1,
		decoder_layers: 1,
		encoder_attention_heads: 1,
		decoder_attention_heads: 1,
	},
	...{ vocab_size: WORDS.length, is_encoder_decoder: true },
};
const MARKS = { bos_token_id: 0, pad_token_id: 1, eos_token_id: 2, decoder_start_token_id: 2 };

function textModel(
	kind: { model_type: string; architectures: string[] },
	tokenizer_class: string,
	suffix: string,
): Files {
	const isTranslation = kind.model_type === "m2m_100";
	return {
		"config.json": JSON.stringify({ ...kind, ...SIZES, ...MARKS, max_position_embeddings: 32 }),
		"generation_config.json": JSON.stringify({ ...MARKS, max_length: 20 }),
		"tokenizer.json": tokenizer(
			WORDS,
			(token) => /^[<_]/.test(token),
			isTranslation ? [mark("__en__"), TEXT, mark("</s>")] : [mark("<s>"), TEXT, mark("</s>")],
		),
		"tokenizer_config.json": JSON.stringify({
			...{ tokenizer_class, model_max_length: 32, unk_token: "<unk>", pad_token: "<pad>" },
			...{ bos_token: "<s>", eos_token: "</s>" },
			additional_special_tokens: ["__en__", "__fr__"],
		}),
		[`onnx/encoder_model${suffix}.onnx`]: textEncoder(WORDS),
		[`onnx/decoder_model_merged${suffix}.onnx`]: decoder(TRANSLATION),
	};
}

/** Shape of m2m100. `suffix`: of the names of the files, such as `_quantized`. */
export const translationModel = (suffix = ""): Files =>
	textModel(
		{ model_type: "m2m_100", architectures: ["M2M100ForConditionalGeneration"] },
		"M2M100Tokenizer",
		suffix,
	);

/** Shape of bart-large-cnn. */
export const summaryModel = (suffix = ""): Files =>
	textModel({ model_type: "bart", architectures: ["BartForConditionalGeneration"] }, "BartTokenizer", suffix);

/** The same, without an end. */
export const endlessModel = (): Files => ({
	...summaryModel(),
	"onnx/decoder_model_merged.onnx": decoder({
		tokens: WORDS,
		next: Object.fromEntries(WORDS.map((from) => [`${from} chat`, 10 * SURE])),
	}),
});

const SECONDS = 30;
const STEPS_PER_SECOND = 50;
const TIMES = Array.from(
	{ length: SECONDS * STEPS_PER_SECOND + 1 },
	(_, at) => `<|${(at / STEPS_PER_SECOND).toFixed(2)}|>`,
);
const SPEECH_MARKS = [
	"<|endoftext|>",
	"<|startoftranscript|>",
	"<|en|>",
	"<|fr|>",
	"<|translate|>",
	"<|transcribe|>",
];
const SPEECH = [
	...["hello", "loud", "quiet", "<unk>", ...SPEECH_MARKS],
	...["<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>", ...TIMES],
];
const idOf = (token: string): number => SPEECH.indexOf(token);

/** Says whether a recording is loud or quiet, from second 0 to 1. */
const SPEECH_CHAIN: Chain = {
	tokens: SPEECH,
	next: {
		...Object.fromEntries(SPEECH_MARKS.slice(1).map((from) => [`${from} <|0.00|>`, SURE])),
		"<|0.00|> hello": 3 * SURE,
		...{ "hello loud": 2 * SURE, "hello quiet": 2 * SURE },
		...{ "loud <|1.00|>": 3 * SURE, "quiet <|1.00|>": 3 * SURE },
		"<|1.00|> <|endoftext|>": 3 * SURE,
	},
};

const MEL_BINS = 80;

/** The state is the mean of the spectrum: silence has -1.5 everywhere, and its word gets a score above the other one's. */
function speechEncoder(): Buffer {
	const quiet = SPEECH.map((token) => (token === "quiet" ? -10 : 0));
	const offset = SPEECH.map((token) => (token === "quiet" ? -12 : 0));
	return writeOnnx({
		weights: [
			{ name: "row", dims: [1, SPEECH.length], data: quiet },
			{ name: "offset", dims: [SPEECH.length], data: offset },
		],
		nodes: [
			{
				op: "ReduceMean",
				inputs: ["input_features"],
				outputs: ["mean"],
				attributes: { axes: [1, 2], keepdims: 1 },
			},
			{ op: "MatMul", inputs: ["mean", "row"], outputs: ["scaled"] },
			{ op: "Add", inputs: ["scaled", "offset"], outputs: ["last_hidden_state"] },
		],
		inputs: [{ name: "input_features", dims: ["batch", MEL_BINS, "frames"] }],
		outputs: [{ name: "last_hidden_state", dims: ["batch", 1, SPEECH.length] }],
	});
}

/** Shape of whisper. */
export function speechModel(suffix = ""): Files {
	const marks = {
		...{ bos_token_id: idOf("<|endoftext|>"), pad_token_id: idOf("<|endoftext|>") },
		...{ eos_token_id: idOf("<|endoftext|>"), decoder_start_token_id: idOf("<|startoftranscript|>") },
	};
	return {
		"config.json": JSON.stringify({
			...{ model_type: "whisper", architectures: ["WhisperForConditionalGeneration"] },
			...{ ...SIZES, vocab_size: SPEECH.length, ...marks },
			...{ num_mel_bins: MEL_BINS, max_source_positions: 1500, max_target_positions: 448 },
		}),
		"generation_config.json": JSON.stringify({
			...{ ...marks, max_length: 448, is_multilingual: true, return_timestamps: false },
			...{ no_timestamps_token_id: idOf("<|notimestamps|>"), max_initial_timestamp_index: 50 },
			lang_to_id: { "<|en|>": idOf("<|en|>"), "<|fr|>": idOf("<|fr|>") },
			task_to_id: { transcribe: idOf("<|transcribe|>"), translate: idOf("<|translate|>") },
		}),
		"preprocessor_config.json": JSON.stringify({
			...{ feature_extractor_type: "WhisperFeatureExtractor", processor_class: "WhisperProcessor" },
			...{ chunk_length: SECONDS, feature_size: MEL_BINS, hop_length: 160, n_fft: 400, n_samples: 480_000 },
			...{ nb_max_frames: 3000, sampling_rate: 16_000, padding_value: 0, return_attention_mask: false },
		}),
		"tokenizer.json": tokenizer(SPEECH, (token) => token.startsWith("<|"), [TEXT]),
		"tokenizer_config.json": JSON.stringify({
			...{ tokenizer_class: "WhisperTokenizer", model_max_length: 1024, unk_token: "<unk>" },
			...{ bos_token: "<|endoftext|>", eos_token: "<|endoftext|>", pad_token: "<|endoftext|>" },
		}),
		[`onnx/encoder_model${suffix}.onnx`]: speechEncoder(),
		[`onnx/decoder_model_merged${suffix}.onnx`]: decoder(SPEECH_CHAIN),
	};
}
