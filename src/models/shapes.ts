/**
 * The input shapes of each task, and the output shapes of each input shape. The first of each is the default of an
 * operator's model that names none.
 */
import type { InputShape, OutputShape, TaskTitle } from "./model.ts";

export const INPUTS_OF: Record<TaskTitle, readonly [InputShape, ...InputShape[]]> = {
	"Text Generation": [
		"chat-openai",
		"chat",
		"chat-legacy",
		"chat-batch",
		"chat-batch-2000",
		"chat-guided",
		"chat-guided-batch",
		"chat-image",
		"chat-guard",
		"chat-gpt-oss",
		"messages",
		"decision-clef",
	],
	"Text Embeddings": ["embeddings-text", "embeddings-bge", "embeddings-m3", "embeddings-qwen3"],
	"Text Classification": ["text-classification", "rerank"],
	Translation: ["translation-m2m", "translation-indic"],
	Summarization: ["summarization"],
	"Automatic Speech Recognition": ["whisper-b64", "whisper-binary", "asr-nova", "asr-flux-ws"],
	"Text-to-Speech": ["tts-aura", "tts-melotts"],
	"Text-to-Image": ["tti-lucid", "tti-flux1", "tti-phoenix", "tti-sd", "tti-multipart"],
	"Image-to-Text": ["image-to-text", "moondream"],
	"Image Classification": ["image-classification"],
	"Object Detection": ["object-detection"],
	"Dumb Pipe": ["smart-turn"],
};

/** Output shapes of every chat model. */
const CHAT: readonly OutputShape[] = [
	"text-response",
	"text-response-min",
	"text-response-legacy",
	"text-response-batch",
	"text-response-openai-tools",
	"openai-chat-completion",
	"openai-chat-completion-vllm",
];
const IMAGES: readonly OutputShape[] = ["image-b64", "image-png", "image-jpeg"];

export const OUTPUTS_OF: Record<InputShape, readonly [OutputShape, ...OutputShape[]]> = {
	"chat-openai": ["openai-chat-completion", ...CHAT],
	chat: ["text-response", ...CHAT],
	"chat-legacy": ["text-response-legacy", ...CHAT],
	"chat-batch": ["text-response-batch", ...CHAT],
	"chat-batch-2000": ["openai-chat-completion-vllm", ...CHAT],
	"chat-guided": ["text-response", ...CHAT],
	"chat-guided-batch": ["text-response", ...CHAT],
	"chat-image": ["text-response-min", ...CHAT],
	"chat-guard": ["guard-response"],
	"chat-gpt-oss": ["gpt-oss"],
	messages: ["messages"],
	"decision-clef": ["decision-answers"],
	"embeddings-bge": ["embeddings", "embeddings-plain"],
	"embeddings-m3": ["embeddings-m3"],
	"embeddings-text": ["embeddings-plain"],
	"embeddings-qwen3": ["embeddings-plain"],
	rerank: ["rerank-scores"],
	"text-classification": ["labels"],
	summarization: ["summary"],
	"translation-m2m": ["translation"],
	"translation-indic": ["translations"],
	"whisper-binary": ["transcription", "transcription-v3"],
	"whisper-b64": ["transcription-v3", "transcription"],
	"asr-nova": ["deepgram-results"],
	"asr-flux-ws": ["flux-events"],
	"tts-melotts": ["audio-b64", "audio-mpeg"],
	"tts-aura": ["audio-mpeg", "audio-b64"],
	"tti-sd": ["image-png", "image-jpeg", "image-b64"],
	"tti-flux1": ["image-b64", ...IMAGES],
	"tti-lucid": ["image-b64", ...IMAGES],
	"tti-phoenix": ["image-jpeg", ...IMAGES],
	"tti-multipart": ["image-b64", ...IMAGES],
	"image-classification": ["labels"],
	"object-detection": ["detections"],
	"image-to-text": ["description"],
	moondream: ["moondream-result"],
	"smart-turn": ["turn"],
};
