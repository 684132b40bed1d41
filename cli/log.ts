/**
 * The log of a gateway's process: its own messages, and the lines that the runtime writes. `text`: for people. `json`: one object per
 * line on standard output, with `time`, `level` and `message` or the fields of the Worker's line.
 */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { isRecord } from "../src/core/json.ts";

export const LOG_FORMATS = ["text", "json"] as const;
/** In the order of their severity. `none`: no lines. */
export const LOG_LEVELS = ["info", "warn", "error", "none"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];
type Severity = Exclude<LogLevel, "none">;

export interface LogSettings {
	format: LogFormat;
	level: LogLevel;
	now?: () => Date;
	out?: (line: string) => void;
	err?: (line: string) => void;
}

type Fields = Readonly<Record<string, unknown>>;

/** Control characters, which a terminal would obey, and separators of lines, which would forge a line. They come from callers. */
const CONTROL = /[^\P{Cc}\t]|[\p{Cf}\u2028\u2029]/gu;
const escaped = (character: string): string =>
	`\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
const printable = (text: string): string => text.replace(CONTROL, escaped);

/** The runtime writes it at each start with options of V8. It has no effect that an operator can see or mend. */
const UNUSED_COMPILE_CACHE = "per-isolate bootstrap compile cache failed its compatibility check";
/** Addresses in the runtime's code, after a line that has the message. */
const RUNTIME_STACK = /^stack: \S+@[\da-f]+(?:\s|$)/;
/** `workerd/server/server.c++:42: warning: …` */
const RUNTIME_LINE = /^[\w./+-]+:\d+: (info|warning): /;
const SEVERITIES: Readonly<Record<string, Severity>> = { info: "info", warning: "warn" };
const severityOf = (line: string): Severity | undefined => SEVERITIES[RUNTIME_LINE.exec(line)?.[1] ?? ""];

export class Log {
	readonly #settings: Required<LogSettings>;

	constructor(settings: LogSettings) {
		this.#settings = { now: () => new Date(), out: console.log, err: console.error, ...settings };
	}

	/** `fields`: for `json` only. Their `message` replaces the text for people. */
	info(message: string, fields: Fields = {}): void {
		this.#write("info", message, fields);
	}

	warn(message: string, fields: Fields = {}): void {
		this.#write("warn", message, fields);
	}

	error(message: string, fields: Fields = {}): void {
		this.#write("error", message, fields);
	}

	/**
	 * Logs each line of the runtime's output. The Worker writes a failure as one JSON object; all other lines are messages. Those of the
	 * runtime itself have their own severity.
	 */
	follow(stream: Readable, severity: Severity): void {
		createInterface({ input: stream }).on("line", (line) => {
			if (line.trim() === "" || line.includes(UNUSED_COMPILE_CACHE) || RUNTIME_STACK.test(line)) return;
			const record = recordIn(line);
			if (record === undefined) return this.#write(severityOf(line) ?? severity, printable(line), {});
			if (this.#settings.format === "text") return this.#write(severity, printable(textOf(record)), {});
			if (this.#logs(severity)) this.#settings.out(printable(JSON.stringify({ level: severity, ...record })));
		});
	}

	#logs(severity: Severity): boolean {
		return LOG_LEVELS.indexOf(severity) >= LOG_LEVELS.indexOf(this.#settings.level);
	}

	#write(level: Severity, message: string, fields: Fields): void {
		if (!this.#logs(level)) return;
		const { format, now, out, err } = this.#settings;
		if (format === "json")
			out(JSON.stringify({ time: now().toISOString(), level, message: message.trim(), ...fields }));
		else if (level === "info") out(message);
		else err(message);
	}
}

function recordIn(line: string): Fields | undefined {
	if (!line.startsWith("{")) return undefined;
	try {
		const value: unknown = JSON.parse(line);
		return typeof value === "object" && value !== null ? { ...value } : undefined;
	} catch {
		return undefined;
	}
}

/** No engine answered. The Worker does not log the runtime's message, because it may quote a request. */
const isUnreached = (failure: unknown, upstream: unknown): boolean =>
	failure === "upstreamUnavailable" && isRecord(upstream) && !("status" in upstream);

/** `12:30:05.123 upstream 3040 backend=vllm replica=gpu-1 (request 0198…)` */
function textOf({ time, failure, code, requestId, ...fields }: Fields): string {
	const clock = typeof time === "string" ? time.slice(11, 23) : undefined;
	const pairs = Object.entries(fields).map(([name, value]) =>
		typeof value === "string" || typeof value === "number"
			? `${name}=${value}`
			: `${name}=${JSON.stringify(value)}`,
	);
	const request = requestId === undefined ? undefined : `(request ${requestId})`;
	const advice = isUnreached(failure, fields.upstream) ? "(`ganglion doctor` shows why)" : undefined;
	return [clock, failure, code, ...pairs, request, advice].filter((part) => part !== undefined).join(" ");
}
