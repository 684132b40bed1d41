/**
 * What can be asked, independent of who asks and of who answers. A surface's dialect is read into one of these inputs;
 * a backend answers with the matching output; neither knows the other.
 */
import type { AiError } from "../errors.ts";
import type { SpeechInput, Transcript, TranscriptionInput, TurnInput, TurnOutput } from "./audio.ts";
import type { DecisionInput, DecisionOutput } from "./decision.ts";
import type {
	ClassifyImageInput,
	DescribeImageInput,
	DescribeImageOutput,
	DetectObjectsInput,
	DetectObjectsOutput,
	ImageInput,
} from "./images.ts";
import type { LiveTranscription, LiveTranscriptionInput } from "./live-transcription.ts";
import type { Media } from "./media.ts";
import type { RerankingInput, RerankingOutput } from "./reranking.ts";
import type { EmbeddingsInput, EmbeddingsOutput } from "./text-embeddings.ts";
import type { ChatCompletion, ChatInput, Usage } from "./text-generation.ts";
import type {
	ClassifyTextInput,
	LabelsOutput,
	SummarizationInput,
	SummarizationOutput,
	TranslationInput,
	TranslationOutput,
} from "./text-transforms.ts";

/** Task name -> what goes in, what comes out. */
export interface Tasks {
	"text-generation": { input: ChatInput; output: ChatCompletion };
	decision: { input: DecisionInput; output: DecisionOutput };
	"text-embeddings": { input: EmbeddingsInput; output: EmbeddingsOutput };
	reranking: { input: RerankingInput; output: RerankingOutput };
	"text-classification": { input: ClassifyTextInput; output: LabelsOutput };
	translation: { input: TranslationInput; output: TranslationOutput };
	summarization: { input: SummarizationInput; output: SummarizationOutput };
	"speech-recognition": { input: TranscriptionInput; output: Transcript };
	/** Its output is a session, which whoever holds it must end. */
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

/** One question: a task and its input. */
export type TaskCall<Name extends TaskName = TaskName> = {
	[N in Name]: { task: N; input: TaskInput<N> };
}[Name];

/**
 * What a backend answers.
 *
 * `stream` exists for text generation alone: the bytes of an OpenAI `chat.completion.chunk` event stream that includes
 * a usage chunk. It either ends after `data: [DONE]` or *errors* with an `AiError`; it never just stops. Whoever holds
 * it must read it to its end or cancel it: cancelling stops the upstream.
 *
 * What was parsed on the way goes along: a stage in this isolate takes a stream over with `EventStream.eventsOf`, and
 * passes on what it does not change as another `EventStream`. Any stream of bytes will do, and is parsed there.
 *
 * One with `ended` is for the caller as it is, to the last byte (see `LastWords`): it does not error, and nobody between
 * reads it. `ended` resolves when it is over, with what ended it before its end; it never rejects.
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
 * How a stream of OpenAI chunks ends that failed, in the words of a dialect whose callers can be given an engine's own
 * stream as it is.
 */
export type LastWords = (failure: AiError) => string;

/**
 * What of a stream has passed to its reader. Whoever makes the stream keeps it up to date, so that it is true whenever
 * the stream ends: at `[DONE]`, cut, or left.
 */
export interface Progress {
	/** The engine's own counts, the latest that it gave. */
	readonly usage: Usage | undefined;
	/** Output tokens by our own count, for a stream whose engine gave none. */
	readonly outputTokens: number;
}

/** An answer together with the task that it answers. */
export type TaskAnswer<Name extends TaskName = TaskName> = {
	[N in Name]: { task: N; answer: Answer<N> };
}[Name];
