/** The tasks: one folder and one line per task. */
import { decision } from "./decision/index.ts";
import { imageClassification } from "./image-classification/index.ts";
import { imageToText } from "./image-to-text/index.ts";
import { liveTranscription } from "./live-transcription/index.ts";
import { moderation } from "./moderation/index.ts";
import { objectDetection } from "./object-detection/index.ts";
import { reranking } from "./reranking/index.ts";
import { speechRecognition } from "./speech-recognition/index.ts";
import { summarization } from "./summarization/index.ts";
import { textClassification } from "./text-classification/index.ts";
import { textEmbeddings } from "./text-embeddings/index.ts";
import { textGeneration } from "./text-generation/index.ts";
import { textToImage } from "./text-to-image/index.ts";
import { textToSpeech } from "./text-to-speech/index.ts";
import { translation } from "./translation/index.ts";
import { turnDetection } from "./turn-detection/index.ts";

export const TASKS = {
	"text-generation": textGeneration,
	decision,
	moderation,
	"text-embeddings": textEmbeddings,
	reranking,
	"text-classification": textClassification,
	translation,
	summarization,
	"speech-recognition": speechRecognition,
	"live-transcription": liveTranscription,
	"text-to-speech": textToSpeech,
	"text-to-image": textToImage,
	"image-to-text": imageToText,
	"image-classification": imageClassification,
	"object-detection": objectDetection,
	"turn-detection": turnDetection,
};
