/** What the engine knows about a model, and what passes between its server and the process of a model. */
import type { Fault } from "./fault.ts";

export const TASKS = [
	"embeddings",
	"reranking",
	"text-classification",
	"image-classification",
	"object-detection",
	"translation",
	"summarization",
	"speech-recognition",
	"text-to-speech",
] as const;
export type EngineTask = (typeof TASKS)[number];

export interface EngineModel {
	/** The name in requests. */
	name: string;
	task: EngineTask;
	/** Folder of the files: `config.json`, `tokenizer.json`, `onnx/model.onnx` … */
	folder: string;
	/** Which files of `onnx/` are loaded: `fp32` has no ending, `q8` ends with `_quantized`, `fp16` with `_fp16`, `q4` with `_q4`. */
	dtype: "fp32" | "fp16" | "q8" | "q4";
	/** Bytes of memory while it is loaded. An estimate. */
	memory: number;
	/** How vectors of tokens become one, if the request does not say. Default: `mean`. */
	pooling?: "mean" | "cls";
	/** The only language that it speaks. */
	language?: string;
}

/** One text, image or recording. Fields by task. */
export interface Item {
	text?: string;
	/** Reranking. */
	query?: string;
	/** Embeddings. */
	pooling?: "mean" | "cls";
	normalize?: boolean;
	/** `false`: a text that is too long is refused. */
	truncate?: boolean;
	/** An image file. */
	bytes?: Uint8Array;
	/** Scores below are left out. */
	threshold?: number;
	/** Speech: samples of one channel, 16 kHz. */
	samples?: Float32Array;
	/** Speech and translation. */
	language?: string;
	/** Text to speech: the file, and its samples a second. Default: those of the model. */
	format?: SoundFormat;
	sampleRate?: number;
	target?: string;
	/** Speech: writes English. */
	translates?: boolean;
	/** Generated tokens. */
	maxTokens?: number;
}

export const SOUND_FORMATS = ["mp3", "wav", "pcm"] as const;
export type SoundFormat = (typeof SOUND_FORMATS)[number];

export interface Label {
	label: string;
	score: number;
}

export interface DetectedBox extends Label {
	box: { xmin: number; ymin: number; xmax: number; ymax: number };
}

export interface Segment {
	text: string;
	start: number;
	end: number;
}

/** Fields by task. */
export interface Result {
	vector?: Float32Array;
	/** Reranking: the logit. */
	score?: number;
	labels?: Label[];
	objects?: DetectedBox[];
	width?: number;
	height?: number;
	text?: string;
	segments?: Segment[];
	/** A sound file. */
	bytes?: Uint8Array;
	inputTokens?: number;
	outputTokens?: number;
	/** The item is refused, with this sentence. The others of its batch are answered. */
	refusal?: string;
}

export type ToProcess =
	| { kind: "load"; model: EngineModel; threads: number }
	| { kind: "run"; id: number; items: Item[] }
	| { kind: "cancel"; id: number };

export interface FailureCause {
	/** A failure of the model, or of its files. */
	message: string;
	/** The engine's own code has failed instead. */
	fault: Fault | undefined;
}

export type FromProcess =
	| { kind: "progress"; part: number }
	| { kind: "loaded" }
	| ({ kind: "unreadable" } & FailureCause)
	/** A token was generated: the process is not stuck. */
	| { kind: "token"; id: number }
	| { kind: "done"; id: number; results: Result[] }
	| ({ kind: "failed"; id: number } & FailureCause);
