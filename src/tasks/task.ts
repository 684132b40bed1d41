/**
 * The tasks, independent of the caller's dialect and of the backend. A dialect converts a request into one of these
 * inputs, and a backend answers with the matching output.
 */
import type { AiError } from "../core/errors.ts";
import type { Usage } from "../core/usage.ts";
import type { Media } from "../media/media.ts";
import type { DecisionInput, DecisionOutput } from "./decision/types.ts";
import type { ClassifyImageInput } from "./image-classification/types.ts";
import type { DescribeImageInput, DescribeImageOutput } from "./image-to-text/types.ts";
import type { LiveTranscription, LiveTranscriptionInput } from "./live-transcription/types.ts";
import type { DetectObjectsInput, DetectObjectsOutput } from "./object-detection/types.ts";
import type { RerankingInput, RerankingOutput } from "./reranking/types.ts";
import type { Transcript, TranscriptionInput } from "./speech-recognition/types.ts";
import type { SummarizationInput, SummarizationOutput } from "./summarization/types.ts";
import type { ClassifyTextInput, LabelsOutput } from "./text-classification/types.ts";
import type { EmbeddingsInput, EmbeddingsOutput } from "./text-embeddings/types.ts";
import type { ChatCompletion, ChatInput } from "./text-generation/types.ts";
import type { ImageInput } from "./text-to-image/types.ts";
import type { SpeechInput } from "./text-to-speech/types.ts";
import type { TranslationInput, TranslationOutput } from "./translation/types.ts";
import type { TurnInput, TurnOutput } from "./turn-detection/types.ts";

/** Input and output of each task. */
export interface Tasks {
	"text-generation": { input: ChatInput; output: ChatCompletion };
	decision: { input: DecisionInput; output: DecisionOutput };
	"text-embeddings": { input: EmbeddingsInput; output: EmbeddingsOutput };
	reranking: { input: RerankingInput; output: RerankingOutput };
	"text-classification": { input: ClassifyTextInput; output: LabelsOutput };
	translation: { input: TranslationInput; output: TranslationOutput };
	summarization: { input: SummarizationInput; output: SummarizationOutput };
	"speech-recognition": { input: TranscriptionInput; output: Transcript };
	/** The output is a session. Its owner must end it. */
	"live-transcription": { input: LiveTranscriptionInput; output: LiveTranscription };
	"text-to-speech": { input: SpeechInput; output: Media };
	"text-to-image": { input: ImageInput; output: Media };
	"image-to-text": { input: DescribeImageInput; output: DescribeImageOutput };
	"image-classification": { input: ClassifyImageInput; output: LabelsOutput };
	"object-detection": { input: DetectObjectsInput; output: DetectObjectsOutput };
	"turn-detection": { input: TurnInput; output: TurnOutput };
}

export type TaskName = keyof Tasks;
export type TaskInput<Name extends TaskName> = Tasks[Name]["input"];
export type TaskOutput<Name extends TaskName> = Tasks[Name]["output"];

/** One call: a task and its input. */
export type TaskCall<Name extends TaskName = TaskName> = {
	[N in Name]: { task: N; input: TaskInput<N> };
}[Name];

/**
 * The answer of a backend.
 *
 * `stream` exists for text generation only: the bytes of an OpenAI `chat.completion.chunk` event stream with a usage
 * chunk. It either ends after `data: [DONE]` or *errors* with an `AiError`; it never just stops. Its owner must read it to
 * the end or cancel it; cancelling stops the upstream.
 *
 * Parsed events are kept with the bytes: a stage in this isolate takes them with `EventStream.eventsOf` and returns
 * another `EventStream`. Any other stream of bytes is also accepted; it is parsed there.
 *
 * A stream with `ended` is sent to the caller unchanged (see `StreamErrorFormatter`): it never errors, and no stage reads
 * it. `ended` resolves when the stream is over, with the failure that interrupted it, if any; it never rejects.
 */
export type Answer<Name extends TaskName = TaskName> =
	| { kind: "value"; output: TaskOutput<Name> }
	| {
			kind: "stream";
			events: ReadableStream<Uint8Array>;
			progress: Progress;
			ended?: Promise<AiError | undefined>;
	  };

/**
 * Writes the failure at the end of a stream that was passed through unchanged, in the caller's dialect. Only dialects
 * whose callers accept an engine's own stream have one.
 */
export type StreamErrorFormatter = (failure: AiError) => string;

/**
 * How much of a stream its reader has received. The stream's producer keeps it current, so that it is correct whenever the
 * stream ends: at `[DONE]`, at a failure, or when the caller disconnects.
 */
export interface Progress {
	/** The engine's own counts, the latest ones. */
	readonly usage: Usage | undefined;
	/** Our estimate of the output tokens, for engines without counts. */
	readonly outputTokens: number;
}

/** An answer together with the task that it answers. */
export type TaskAnswer<Name extends TaskName = TaskName> = {
	[N in Name]: { task: N; answer: Answer<N> };
}[Name];
