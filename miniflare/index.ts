/**
 * The package as Miniflare loads it:
 *
 *     "unsafe": {
 *       "bindings": [
 *         { "name": "AI", "type": "ai", "dev": { "plugin": { "package": "ganglion", "name": "ganglion" } } }
 *       ]
 *     }
 */
import type { Plugin } from "miniflare";
import { ganglion } from "./plugin.ts";

export type {
	AiSearchOptions,
	BackendOptions,
	EmbeddedOptions,
	Options,
	RecordedOptions,
	RecordingOptions,
	RouteOptions,
	TargetOptions,
	UrlOptions,
	VectorizeOptions,
} from "./api.ts";

export const plugins: { readonly ganglion: Plugin } = { ganglion };
