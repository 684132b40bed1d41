/** Every model's own dialect: the tables that name its reader and its writer. A shape without one does not compile. */
import type { InputShape, Model, OutputShape } from "../models/model.ts";
import { chatReaders, chatWriters } from "./chat-native.ts";
import { decisionReader, decisionWriter } from "./decision.ts";
import type { Dialect, Reader, Writer } from "./dialect.ts";
import { embeddingsReaders, embeddingsWriters } from "./embeddings.ts";
import { gptOssReader, gptOssWriter } from "./gpt-oss.ts";
import { moondreamReader, moondreamWriter } from "./moondream.ts";
import { rerankReader, rerankWriter } from "./reranking.ts";
import { speechRecognitionReaders, speechRecognitionWriters } from "./speech-recognition.ts";
import { textToImageReaders, textToImageWriters } from "./text-to-image.ts";
import { textToSpeechReaders, textToSpeechWriters } from "./text-to-speech.ts";
import { textTransformReaders, textTransformWriters } from "./text-transforms.ts";
import { turnReader, turnWriter } from "./turn-detection.ts";
import { visionReaders, visionWriters } from "./vision.ts";

const READERS: Record<InputShape, Reader> = {
	...chatReaders,
	...embeddingsReaders,
	...textTransformReaders,
	...speechRecognitionReaders,
	...textToSpeechReaders,
	...textToImageReaders,
	...visionReaders,
	"chat-gpt-oss": gptOssReader,
	"decision-clef": decisionReader,
	rerank: rerankReader,
	moondream: moondreamReader,
	"smart-turn": turnReader,
};

const WRITERS: Record<OutputShape, Writer> = {
	...chatWriters,
	...embeddingsWriters,
	...textTransformWriters,
	...speechRecognitionWriters,
	...textToSpeechWriters,
	...textToImageWriters,
	...visionWriters,
	"gpt-oss": gptOssWriter,
	"decision-answers": decisionWriter,
	"rerank-scores": rerankWriter,
	"moondream-result": moondreamWriter,
	turn: turnWriter,
};

export const nativeDialect = (model: Model): Dialect => ({
	reader: READERS[model.input],
	writer: WRITERS[model.output],
});
