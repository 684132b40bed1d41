/**
 * A model family: models whose native route has the same inputs (`input` in the catalogue) or answers (`output`). The tables
 * have one row for each; the first of a task is its default. Each has a reader or a writer of its name in `dialects/`. What
 * else depends on a family is a property of its row, named by what it means: no other file compares the names.
 */
import type { TaskTitle } from "./tasks.ts";

export interface InputFamily {
	task: TaskTitle;
	/** The output families that fit. The first is the default for an operator's model without `output`. */
	outputs: readonly [keyof typeof OUTPUT_FAMILIES, ...(keyof typeof OUTPUT_FAMILIES)[]];
	/** Sampling fields in OpenRouter's list of models. Absent: not for chat. */
	sampling?: readonly string[];
	/** Chat by `{prompt}` or `{messages}`. */
	native?: NativeChat;
	/**
	 * The native inputs are OpenAI's chat request: without raw prompts, and `inputFields` names the fields of any
	 * route.
	 */
	isOpenAiChat?: true;
	/** Accepts the role `developer` and OpenAI's `response_format`. */
	takesOpenAiMessages?: true;
	/** The native inputs are Anthropic's: backends of that kind receive what the common format cannot express. */
	isAnthropic?: true;
	/** The defaults of the catalogue do not apply on `/responses`. */
	withoutResponsesDefaults?: true;
	/** The answer is a verdict on the last message. */
	isGuard?: true;
	/** The task is a decision, which only the native route has. */
	decides?: true;
	/** The task is reranking. */
	reranks?: true;
	embeddings?: EmbeddingsTraits;
	/** Accepts a list of texts in one request. The source language is always English. */
	translatesLists?: true;
	transcription?: TranscriptionTraits;
	/** Speech by `{prompt, lang}`, returned as JSON. Absent: by `{text, …}`, returned as bytes. */
	speaksInJson?: true;
	image?: ImageTraits;
	/** One model for chat about an image and for detection in it, selected by an input. */
	hasImageTasks?: true;
}

export interface NativeChat {
	/** `parts`: text parts beside strings; `media`: any parts, including images, and every field may be absent. */
	content: "text" | "parts" | "media";
	ranges: "current" | "older";
	responseFormat?: boolean;
	guidedJson?: boolean;
	image?: boolean;
}

interface EmbeddingsTraits {
	/** Texts of one request, if fewer than usual. */
	maxTexts?: number;
	/** `chosen`: by the caller. Absent: unknown, and not set. */
	pooling?: "chosen" | "cls";
	/** Truncation of texts that are too long. `chosen`: by the caller, and refused by default. Absent: not set. */
	truncation?: "always" | "chosen";
}

interface TranscriptionTraits {
	/**
	 * The form of audio on the native route, which determines the other inputs: Whisper's, Deepgram's, or Whisper v3's.
	 */
	audio: "bytes" | "file" | "base64";
	/** Absent: also to English. */
	translates?: false;
}

export interface ImageTraits {
	/** Pixels of a side. */
	sides?: { min: number; max: number };
	/** Names of the inputs, in the order of the native request. */
	fields: readonly string[];
	/** The request is a form with a file for each image. */
	isForm?: true;
	/** Accepts a start image with `strength` and `mask`. */
	takesStartImage?: true;
	/** Input images. Absent: none. */
	maxImages?: number;
	/** Input images are accepted if `inputFields` has one of these. */
	imageFields?: readonly string[];
}

export interface OutputFamily {
	/** The answer is an image file of this format. Absent: JSON, with JPEG data if it has an image. */
	imageFile?: "png" | "jpeg";
	/** The model may write a tool call as text, although it had to call a tool. */
	mayWriteCallsAsText?: true;
}

const OPENAI_SAMPLING = [
	"max_tokens",
	"temperature",
	"top_p",
	"seed",
	"frequency_penalty",
	"presence_penalty",
	"stop",
	"logprobs",
	"top_logprobs",
	"logit_bias",
];
const NATIVE_SAMPLING = [
	"max_tokens",
	"temperature",
	"top_p",
	"top_k",
	"seed",
	"repetition_penalty",
	"frequency_penalty",
	"presence_penalty",
];

/** The answers of every chat model. */
const CHAT = [
	"text-response",
	"text-response-min",
	"text-response-legacy",
	"text-response-batch",
	"text-response-openai-tools",
	"openai-chat-completion",
	"openai-chat-completion-vllm",
] as const;
const IMAGES = ["image-b64", "image-png", "image-jpeg"] as const;

const textParts: NativeChat = { content: "parts", ranges: "current", responseFormat: true };
const nativeChat = { task: "Text Generation", sampling: NATIVE_SAMPLING } as const;

const embeddings = (traits: EmbeddingsTraits) => ({ task: "Text Embeddings", embeddings: traits }) as const;

const leonardo = ["prompt", "width", "height", "num_steps", "guidance", "seed"];
const diffusion = ["prompt", "negative_prompt", "width", "height", "num_steps", "guidance", "seed"];
const textToImage = (image: ImageTraits) => ({ task: "Text-to-Image", image }) as const;

export const INPUT_FAMILIES = {
	"chat-openai": {
		task: "Text Generation",
		outputs: ["openai-chat-completion", ...CHAT],
		sampling: OPENAI_SAMPLING,
		isOpenAiChat: true,
		takesOpenAiMessages: true,
	},
	chat: { ...nativeChat, outputs: ["text-response", ...CHAT], native: textParts },
	"chat-legacy": {
		...nativeChat,
		outputs: ["text-response-legacy", ...CHAT],
		native: { content: "text", ranges: "older" },
	},
	"chat-batch": { ...nativeChat, outputs: ["text-response-batch", ...CHAT], native: textParts },
	// Its other default for `max_tokens` is the catalogue's.
	"chat-batch-2000": { ...nativeChat, outputs: ["openai-chat-completion-vllm", ...CHAT], native: textParts },
	"chat-guided": {
		...nativeChat,
		outputs: ["text-response", ...CHAT],
		native: { content: "media", ranges: "older", guidedJson: true },
	},
	"chat-guided-batch": {
		...nativeChat,
		outputs: ["text-response", ...CHAT],
		native: { content: "media", ranges: "older", guidedJson: true, responseFormat: true },
	},
	"chat-image": {
		...nativeChat,
		outputs: ["text-response-min", ...CHAT],
		native: { content: "media", ranges: "older", image: true },
	},
	"chat-guard": {
		task: "Text Generation",
		outputs: ["guard-response"],
		sampling: ["max_tokens", "temperature"],
		native: { content: "text", ranges: "current" },
		isGuard: true,
	},
	"chat-gpt-oss": {
		...nativeChat,
		outputs: ["gpt-oss"],
		native: textParts,
		takesOpenAiMessages: true,
		withoutResponsesDefaults: true,
	},
	"chat-or-responses": {
		task: "Text Generation",
		outputs: ["completion-or-response"],
		sampling: OPENAI_SAMPLING,
		isOpenAiChat: true,
		takesOpenAiMessages: true,
		withoutResponsesDefaults: true,
	},
	messages: { task: "Text Generation", outputs: ["messages"], isAnthropic: true },
	"decision-clef": { task: "Text Generation", outputs: ["decision-answers"], decides: true },
	"embeddings-text": { task: "Text Embeddings", outputs: ["embeddings-plain"] },
	"embeddings-bge": {
		...embeddings({ pooling: "chosen", truncation: "always" }),
		outputs: ["embeddings", "embeddings-plain"],
	},
	"embeddings-m3": { ...embeddings({ pooling: "cls", truncation: "chosen" }), outputs: ["embeddings-m3"] },
	// The limit holds for each list of a request.
	"embeddings-qwen3": { ...embeddings({ maxTexts: 32 }), outputs: ["embeddings-plain"] },
	"text-classification": { task: "Text Classification", outputs: ["labels"] },
	rerank: { task: "Text Classification", outputs: ["rerank-scores"], reranks: true },
	"translation-m2m": { task: "Translation", outputs: ["translation"] },
	"translation-indic": { task: "Translation", outputs: ["translations"], translatesLists: true },
	summarization: { task: "Summarization", outputs: ["summary"] },
	"whisper-b64": {
		task: "Automatic Speech Recognition",
		outputs: ["transcription-v3", "transcription"],
		transcription: { audio: "base64" },
	},
	"whisper-binary": {
		task: "Automatic Speech Recognition",
		outputs: ["transcription", "transcription-v3"],
		transcription: { audio: "bytes" },
	},
	"asr-nova": {
		task: "Automatic Speech Recognition",
		outputs: ["deepgram-results"],
		transcription: { audio: "file", translates: false },
	},
	"asr-flux-ws": { task: "Automatic Speech Recognition", outputs: ["flux-events"] },
	"tts-aura": { task: "Text-to-Speech", outputs: ["audio-mpeg", "audio-b64"] },
	"tts-melotts": { task: "Text-to-Speech", outputs: ["audio-b64", "audio-mpeg"], speaksInJson: true },
	// The sides are those of the families' own schemas, except for the zero that Leonardo's allow: no image has it.
	"tti-lucid": {
		...textToImage({ sides: { min: 1, max: 2500 }, fields: leonardo }),
		outputs: ["image-b64", ...IMAGES],
	},
	// Its schema allows nothing else; the seed is in none, and reported to work.
	"tti-flux1": { ...textToImage({ fields: ["prompt", "steps", "seed"] }), outputs: ["image-b64", ...IMAGES] },
	"tti-phoenix": {
		...textToImage({ sides: { min: 1, max: 2048 }, fields: diffusion }),
		outputs: ["image-jpeg", ...IMAGES],
	},
	"tti-sd": {
		...textToImage({
			fields: diffusion,
			takesStartImage: true,
			maxImages: 1,
			imageFields: ["image", "image_b64"],
		}),
		outputs: ["image-png", "image-jpeg", "image-b64"],
	},
	"tti-multipart": {
		...textToImage({
			sides: { min: 256, max: 1920 },
			fields: ["prompt", "width", "height", "steps", "guidance", "seed"],
			isForm: true,
			maxImages: 4,
		}),
		outputs: ["image-b64", ...IMAGES],
	},
	"image-to-text": { task: "Image-to-Text", outputs: ["description"] },
	moondream: { task: "Image-to-Text", outputs: ["moondream-result"], hasImageTasks: true },
	"image-classification": { task: "Image Classification", outputs: ["labels"] },
	"object-detection": { task: "Object Detection", outputs: ["detections"] },
	"smart-turn": { task: "Dumb Pipe", outputs: ["turn"] },
} as const satisfies Record<string, InputFamily>;

export const OUTPUT_FAMILIES = {
	"text-response": {},
	"text-response-min": {},
	"text-response-legacy": {},
	"text-response-batch": {},
	"text-response-openai-tools": {},
	"openai-chat-completion": {},
	"openai-chat-completion-vllm": {},
	"gpt-oss": { mayWriteCallsAsText: true },
	"completion-or-response": {},
	messages: {},
	"guard-response": {},
	"decision-answers": {},
	embeddings: {},
	"embeddings-m3": {},
	"embeddings-plain": {},
	"rerank-scores": {},
	labels: {},
	summary: {},
	translation: {},
	translations: {},
	transcription: {},
	"transcription-v3": {},
	"deepgram-results": {},
	"flux-events": {},
	"audio-b64": {},
	"audio-mpeg": {},
	"image-png": { imageFile: "png" },
	"image-jpeg": { imageFile: "jpeg" },
	"image-b64": {},
	detections: {},
	description: {},
	"moondream-result": {},
	turn: {},
} as const satisfies Record<string, OutputFamily>;
