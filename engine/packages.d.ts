/** The parts of installed packages that the engine uses. They are no dependencies of the project. */

declare module "@hono/node-server" {
	import type { Server } from "node:http";
	export function serve(
		options: {
			fetch(request: Request): Response | Promise<Response>;
			port: number;
			hostname: string;
			serverOptions?: { requestTimeout?: number; keepAliveTimeout?: number };
		},
		listening?: (address: { port: number }) => void,
	): Server;
}

declare module "wasm-media-encoders" {
	interface Mp3Encoder {
		configure(options: { sampleRate: number; channels: 1; bitrate: number }): void;
		/** The result is overwritten by the next call. */
		encode(channels: Float32Array[]): Uint8Array;
		finalize(): Uint8Array;
	}
	export function createMp3Encoder(): Promise<Mp3Encoder>;
}

declare module "@huggingface/transformers" {
	export interface Tensor {
		data: ArrayLike<number | bigint>;
		dims: number[];
	}
	export type Tensors = Record<string, Tensor>;

	export interface Tokenizer {
		(texts: string[], options: { text_pair?: string[]; padding?: boolean; truncation?: boolean }): Tensors;
		model_max_length: number;
		language_codes?: string[];
	}

	export interface Pipeline {
		(input: unknown, options?: Record<string, unknown>): Promise<unknown>;
		tokenizer: Tokenizer;
		model: ((inputs: Tensors) => Promise<Tensors>) & {
			config: {
				id2label?: Record<string, string>;
				problem_type?: string;
				max_position_embeddings?: number;
				sampling_rate?: number;
			};
			generation_config?: { is_multilingual?: boolean };
		};
	}

	export function pipeline(task: string, model: string, options: Record<string, unknown>): Promise<Pipeline>;

	export class RawImage {
		width: number;
		height: number;
		static fromBlob(blob: Blob): Promise<RawImage>;
		rgb(): RawImage;
	}

	export class InterruptableStoppingCriteria {
		interrupt(): void;
	}

	export const env: { allowRemoteModels: boolean; localModelPath: string };
}
