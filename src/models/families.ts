/** The model families: one row for each value of `input` and `output` in the catalogue. The first of a task is its default. */
import type { EmbeddingsTraits, ImageTraits, InputFamily, NativeChat, OutputFamily } from "./family.ts";

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
