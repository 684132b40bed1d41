/**
 * Models of a few numbers with the files of the hub's layout, and what they compute, written out. Each has the shape of a model of the
 * catalogue.
 */
import { type Graph, type Weight, writeOnnx } from "./onnx.ts";

export type Files = Record<string, Buffer | string>;

const WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "cat", "dog", "sun", "moon"];
const PAD = 0;
export const WIDTH = 4;
export const MAX_TOKENS = 16;

/** The vector of a word: `sin` of its number and of the dimension. */
export const wordVector = (word: number): number[] =>
	Array.from({ length: WIDTH }, (_, at) => Math.sin(word * 1.7 + at * 0.9));
const typeVector = (type: number): number[] =>
	Array.from({ length: WIDTH }, (_, at) => type * 0.25 * (at + 1));

/** Numbers of the words of a text, with the marks. */
export const idsOf = (text: string): number[] => [
	WORDS.indexOf("[CLS]"),
	...text.split(" ").map((word) => Math.max(WORDS.indexOf(word), 1)),
	WORDS.indexOf("[SEP]"),
];
/** Numbers and types of a pair. */
const pairOf = (query: string, text: string): [number, number][] => [
	...idsOf(query).map((id): [number, number] => [id, 0]),
	...idsOf(text)
		.slice(1)
		.map((id): [number, number] => [id, 1]),
];

const hiddenOf = (tokens: readonly [number, number][]): number[][] =>
	tokens.map(([id, type]) =>
		wordVector(id).map((value, at) => Math.tanh(value + (typeVector(type)[at] ?? 0))),
	);
const sum = (rows: readonly number[][]): number[] =>
	Array.from({ length: WIDTH }, (_, at) => rows.reduce((total, row) => total + (row[at] ?? 0), 0));
const unit = (vector: readonly number[]): number[] => vector.map((value) => value / Math.hypot(...vector));
const withTypes = (text: string): [number, number][] => idsOf(text).map((id) => [id, 0]);

/** What the tiny encoder computes for a text. */
export function embeddingOf(text: string, pooling: "mean" | "cls" = "mean"): number[] {
	const hidden = hiddenOf(withTypes(text).slice(0, MAX_TOKENS));
	return unit(pooling === "cls" ? (hidden[0] ?? []) : sum(hidden).map((value) => value / hidden.length));
}

const CLASSES = [
	[0.8, -0.6, 0.4, 0.3],
	[-0.5, 0.9, -0.2, 0.7],
];
const dot = (a: readonly number[], b: readonly number[]): number =>
	a.reduce((total, value, at) => total + value * (b[at] ?? 0), 0);
const softmax = (values: readonly number[]): number[] => {
	const powers = values.map(Math.exp);
	return powers.map((power) => power / powers.reduce((total, one) => total + one, 0));
};

export const labelScoresOf = (text: string): number[] =>
	softmax(CLASSES.map((row) => dot(row, sum(hiddenOf(withTypes(text))))));

export const logitOf = (query: string, text: string): number =>
	dot(CLASSES[0] ?? [], sum(hiddenOf(pairOf(query, text))));

const token = (content: string, id: number) => ({
	...{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true },
});
const special = (id: string, type_id: number) => ({ SpecialToken: { id, type_id } });
const sequence = (id: string, type_id: number) => ({ Sequence: { id, type_id } });

function tokenizerFiles(): Files {
	const vocab = Object.fromEntries(WORDS.map((word, id) => [word, id]));
	const tokenizer = {
		...{ version: "1.0", truncation: null, padding: null },
		added_tokens: WORDS.slice(0, 4).map(token),
		normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
		pre_tokenizer: { type: "BertPreTokenizer" },
		post_processor: {
			type: "TemplateProcessing",
			single: [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)],
			pair: [
				...[special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)],
				...[sequence("B", 1), special("[SEP]", 1)],
			],
			special_tokens: {
				"[CLS]": { id: "[CLS]", ids: [2], tokens: ["[CLS]"] },
				"[SEP]": { id: "[SEP]", ids: [3], tokens: ["[SEP]"] },
			},
		},
		decoder: { type: "WordPiece", prefix: "##", cleanup: true },
		model: {
			...{ type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##" },
			...{ max_input_chars_per_word: 100, vocab },
		},
	};
	return {
		"tokenizer.json": JSON.stringify(tokenizer),
		"tokenizer_config.json": JSON.stringify({
			...{ tokenizer_class: "BertTokenizer", model_max_length: MAX_TOKENS, do_lower_case: true },
			...{ pad_token: "[PAD]", unk_token: "[UNK]", cls_token: "[CLS]", sep_token: "[SEP]" },
		}),
	};
}

const IDS = ["batch", "length"];
const INPUTS: Graph["inputs"] = ["input_ids", "attention_mask", "token_type_ids"].map((name) => ({
	...{ name, isInteger: true, dims: IDS },
}));
const ENCODER_WEIGHTS: Weight[] = [
	{ name: "words", dims: [WORDS.length, WIDTH], data: WORDS.flatMap((_, id) => wordVector(id)) },
	{ name: "types", dims: [2, WIDTH], data: [0, 1].flatMap(typeVector) },
	{ name: "last", dims: [1], data: [2], isInteger: true },
	{ name: "middle", dims: [1], data: [1], isInteger: true },
];
/** `hidden`: tanh of the word's and the type's vector, and 0 where the mask is 0. */
const ENCODER_NODES: Graph["nodes"] = [
	{ op: "Gather", inputs: ["words", "input_ids"], outputs: ["by_word"] },
	{ op: "Gather", inputs: ["types", "token_type_ids"], outputs: ["by_type"] },
	{ op: "Add", inputs: ["by_word", "by_type"], outputs: ["both"] },
	{ op: "Tanh", inputs: ["both"], outputs: ["bent"] },
	{ op: "Cast", inputs: ["attention_mask"], outputs: ["mask"], attributes: { to: 1 } },
	{ op: "Unsqueeze", inputs: ["mask", "last"], outputs: ["mask_column"] },
	{ op: "Mul", inputs: ["bent", "mask_column"], outputs: ["hidden"] },
];

const CONFIG = {
	model_type: "bert",
	hidden_size: WIDTH,
	max_position_embeddings: MAX_TOKENS,
	pad_token_id: PAD,
};

/** Shape of bge-small-en-v1.5. */
export const embeddingModel = (): Files => ({
	...tokenizerFiles(),
	"config.json": JSON.stringify({ ...CONFIG, architectures: ["BertModel"] }),
	"onnx/model.onnx": writeOnnx({
		nodes: [...ENCODER_NODES, { op: "Identity", inputs: ["hidden"], outputs: ["last_hidden_state"] }],
		weights: ENCODER_WEIGHTS,
		inputs: INPUTS,
		outputs: [{ name: "last_hidden_state", dims: [...IDS, WIDTH] }],
	}),
});

function classifier(rows: readonly number[][], config: object, file: string): Files {
	const columns = Array.from({ length: WIDTH }, (_, at) => rows.map((row) => row[at] ?? 0));
	return {
		...tokenizerFiles(),
		"config.json": JSON.stringify({ ...CONFIG, architectures: ["BertForSequenceClassification"], ...config }),
		[file]: writeOnnx({
			nodes: [
				...ENCODER_NODES,
				{ op: "ReduceSum", inputs: ["hidden", "middle"], outputs: ["sum"], attributes: { keepdims: 0 } },
				{ op: "MatMul", inputs: ["sum", "head"], outputs: ["logits"] },
			],
			weights: [...ENCODER_WEIGHTS, { name: "head", dims: [WIDTH, rows.length], data: columns.flat() }],
			inputs: INPUTS,
			outputs: [{ name: "logits", dims: ["batch", rows.length] }],
		}),
	};
}

/** Shape of distilbert-sst-2. */
export const sentimentModel = (file = "onnx/model.onnx"): Files =>
	classifier(CLASSES, { id2label: { 0: "NEGATIVE", 1: "POSITIVE" } }, file);

/** Shape of bge-reranker-base. */
export const rerankerModel = (): Files => classifier(CLASSES.slice(0, 1), {}, "onnx/model.onnx");

const IMAGE_SIZE = 4;
const IMAGE_MEAN = [0.5, 0.4, 0.3];
const IMAGE_STD = [0.5, 0.25, 0.2];
const IMAGE_CLASSES = [
	[1, 0, 0],
	[0, 1, 0],
	[0, 0, 1],
];
const IMAGE_LABELS = { 0: "red", 1: "green", 2: "blue" };

/** Labels of an image of one colour, best first. */
export function imageLabelsOf(colour: readonly [number, number, number]): [string, number][] {
	const pixel = colour.map((value, at) => (value / 255 - (IMAGE_MEAN[at] ?? 0)) / (IMAGE_STD[at] ?? 1));
	const scores = softmax(IMAGE_CLASSES.map((row) => dot(row, pixel)));
	return Object.values(IMAGE_LABELS)
		.map((label, at): [string, number] => [label, scores[at] ?? 0])
		.sort((a, b) => b[1] - a[1]);
}

const pixels = (): Graph["inputs"] => [{ name: "pixel_values", dims: ["batch", 3, "height", "width"] }];
const PIXEL_MEAN: Graph["nodes"][number] = {
	...{ op: "ReduceMean", inputs: ["pixel_values"], outputs: ["colour"] },
	attributes: { axes: [2, 3], keepdims: 0 },
};
const imageProcessor = (type: string): string =>
	JSON.stringify({
		...{ image_processor_type: type, do_resize: true, size: { height: IMAGE_SIZE, width: IMAGE_SIZE } },
		...{ resample: 2, do_rescale: true, rescale_factor: 1 / 255 },
		...{ do_normalize: true, image_mean: IMAGE_MEAN, image_std: IMAGE_STD },
	});

/** Shape of resnet-50. */
export const imageModel = (file = "onnx/model.onnx"): Files => ({
	"config.json": JSON.stringify({
		...{ model_type: "resnet", architectures: ["ResNetForImageClassification"], id2label: IMAGE_LABELS },
	}),
	"preprocessor_config.json": imageProcessor("ViTImageProcessor"),
	[file]: writeOnnx({
		nodes: [PIXEL_MEAN, { op: "MatMul", inputs: ["colour", "head"], outputs: ["logits"] }],
		weights: [{ name: "head", dims: [3, 3], data: IMAGE_CLASSES.flat() }],
		inputs: pixels(),
		outputs: [{ name: "logits", dims: ["batch", 3] }],
	}),
});

const BOXES = [
	[0.5, 0.5, 0.5, 0.5],
	[0.25, 0.25, 0.5, 0.5],
];
/** The second query finds nothing. */
const BOX_LOGITS = [
	[4, 0, 0],
	[0, 0, 4],
];

/** Shape of detr-resnet-50: one box in the middle, whatever the image has. */
export const detectionModel = (file = "onnx/model.onnx"): Files => ({
	"config.json": JSON.stringify({
		...{ model_type: "detr", architectures: ["DetrForObjectDetection"], id2label: { 0: "cat", 1: "dog" } },
	}),
	"preprocessor_config.json": imageProcessor("DetrImageProcessor"),
	[file]: writeOnnx({
		nodes: [
			{ ...PIXEL_MEAN, attributes: { axes: [1, 2, 3], keepdims: 1 } },
			{ op: "Mul", inputs: ["colour", "zero"], outputs: ["none"] },
			{ op: "Reshape", inputs: ["none", "flat"], outputs: ["nothing"] },
			{ op: "Add", inputs: ["all_logits", "nothing"], outputs: ["logits"] },
			{ op: "Add", inputs: ["all_boxes", "nothing"], outputs: ["pred_boxes"] },
		],
		weights: [
			{ name: "zero", dims: [1], data: [0] },
			{ name: "flat", dims: [3], data: [1, 1, 1], isInteger: true },
			{ name: "all_logits", dims: [1, 2, 3], data: BOX_LOGITS.flat() },
			{ name: "all_boxes", dims: [1, 2, 4], data: BOXES.flat() },
		],
		inputs: [...pixels(), { name: "pixel_mask", isInteger: true, dims: ["batch", "height", "width"] }],
		outputs: [
			{ name: "logits", dims: [1, 2, 3] },
			{ name: "pred_boxes", dims: [1, 2, 4] },
		],
	}),
});
/** e^4 / (e^4 + 2). */
export const DETECTED_SCORE = 0.9646631;
