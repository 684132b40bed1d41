/**
 * A model family: models whose native route has the same inputs (`input` in the catalogue) or answers (`output`). The rows
 * are in `families.ts`; each has a reader or a writer of its name in `dialects/`. What else depends on a family is a
 * property of its row, named by what it means: no other file compares the names.
 */
import { INPUT_FAMILIES, OUTPUT_FAMILIES } from "./families.ts";
import type { Model } from "./model.ts";
import type { TaskTitle } from "./tasks.ts";

export interface InputFamily {
	task: TaskTitle;
	/** The output families that fit. The first is the default for an operator's model without `output`. */
	outputs: readonly [OutputShape, ...OutputShape[]];
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

export interface EmbeddingsTraits {
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

export type InputShape = keyof typeof INPUT_FAMILIES;
export type OutputShape = keyof typeof OUTPUT_FAMILIES;

export const namesOf = <Rows extends object>(rows: Rows): [keyof Rows & string, ...(keyof Rows & string)[]] =>
	// The tables are not empty, and their keys are strings.
	Object.keys(rows) as [keyof Rows & string, ...(keyof Rows & string)[]];

export const INPUT_SHAPES = namesOf(INPUT_FAMILIES);
export const OUTPUT_SHAPES = namesOf(OUTPUT_FAMILIES);

export const inputFamily = ({ input }: Pick<Model, "input">): InputFamily => INPUT_FAMILIES[input];
export const outputFamily = ({ output }: Pick<Model, "output">): OutputFamily => OUTPUT_FAMILIES[output];

/** The input families of a task. The first is the default of an operator's model that names none. */
export function inputsOf(task: TaskTitle): readonly [InputShape, ...InputShape[]] {
	const [first, ...others] = INPUT_SHAPES.filter((input) => INPUT_FAMILIES[input].task === task);
	if (!first) throw new TypeError(`${task} has no input family`);
	return [first, ...others];
}

export const outputsOf = (input: InputShape): InputFamily["outputs"] => INPUT_FAMILIES[input].outputs;
