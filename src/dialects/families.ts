/** Tables of readers and writers by shape. A shape without an entry does not compile. */
import type { InputShape, OutputShape } from "../models/family.ts";
import { chatReaders, chatWriters } from "./chat/families.ts";
import { guardReader, guardWriter } from "./chat/guard.ts";
import type { Dialect, NativeWriter, Reader } from "./dialect.ts";
import { deepgramReaders, deepgramWriters } from "./media/deepgram.ts";
import { fluxLive } from "./media/flux.ts";
import { moondreamReader, moondreamWriter } from "./media/moondream.ts";
import { novaLive } from "./media/nova-live.ts";
import { textToImageReaders, textToImageWriters } from "./media/text-to-image.ts";
import { textToSpeechReaders, textToSpeechWriters } from "./media/text-to-speech.ts";
import { turnReader, turnWriter } from "./media/turn-detection.ts";
import { visionReaders, visionWriters } from "./media/vision.ts";
import { whisperReaders, whisperWriters } from "./media/whisper.ts";
import { anthropicMessages } from "./messages/messages.ts";
import {
	chatOrResponsesWriter,
	gptOssReader,
	openAiOrResponsesReader,
} from "./responses/chat-or-responses.ts";
import { decisionReader, decisionWriter } from "./text/decision.ts";
import { embeddingsReaders, embeddingsWriters } from "./text/embeddings.ts";
import { rerankReader, rerankWriter } from "./text/reranking.ts";
import { textTransformReaders, textTransformWriters } from "./text/text-transforms.ts";

export const READERS: Record<InputShape, Reader> = {
	...chatReaders,
	"chat-guard": guardReader,
	...embeddingsReaders,
	...textTransformReaders,
	...whisperReaders,
	...deepgramReaders,
	...textToSpeechReaders,
	...textToImageReaders,
	...visionReaders,
	"chat-gpt-oss": gptOssReader,
	"chat-or-responses": openAiOrResponsesReader,
	messages: anthropicMessages.reader,
	"decision-clef": decisionReader,
	rerank: rerankReader,
	moondream: moondreamReader,
	"smart-turn": turnReader,
};

export const WRITERS: Record<OutputShape, NativeWriter> = {
	...chatWriters,
	"guard-response": guardWriter,
	...embeddingsWriters,
	...textTransformWriters,
	...whisperWriters,
	...deepgramWriters,
	...textToSpeechWriters,
	...textToImageWriters,
	...visionWriters,
	"gpt-oss": chatOrResponsesWriter,
	"completion-or-response": chatOrResponsesWriter,
	messages: anthropicMessages.writer,
	"decision-answers": decisionWriter,
	"rerank-scores": rerankWriter,
	"moondream-result": moondreamWriter,
	turn: turnWriter,
};

/** The dialects of websocket sessions. */
export const LIVE: Partial<Record<InputShape, Dialect>> = {
	"asr-flux-ws": fluxLive,
	"asr-nova": novaLive,
};
