/** A caller that follows the plan, and records what it receives. */
import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import type { CallerRequest } from "./caller-request.ts";
import { type Planned, tokensIn } from "./plan.ts";
import type { Steps } from "./steps.ts";

/** `complete`: the body arrived completely. `disconnected`: by the caller. `broken`: by the other side. `unreachable`: no connection. */
export type End = "complete" | "disconnected" | "broken" | "unreachable";

export interface CallerRecord {
	index: number;
	startedAt: number;
	endedAt: number;
	end: End;
	status?: number;
	/** `cf-ai-req-id` */
	id?: string;
	/** `cf-ai-neurons` */
	neurons?: string;
	attempts?: string;
	/** Of the response. */
	headers?: IncomingHttpHeaders;
	/** Tokens in the order of their arrival. */
	tokens: number[];
	/** The stream ended with an error frame. */
	errorFrame: boolean;
	/** Body of a refusal. */
	body?: string;
}

/** A larger body is an error. */
const MAX_BODY_CHARACTERS = 1_000_000;
const MAX_MS = 60_000;
const ERROR_FRAME = /"errors?":\s*[{[]|"type":"error"|response\.failed/;

/** The highest token number. Some formats repeat the complete text at the end. */
export const lastOf = (tokens: readonly number[]): number => Math.max(0, ...tokens);

export interface CallerWorld {
	url: string;
	agent: Agent;
	authorization: string;
	steps: Steps;
}

export function send(
	planned: Pick<Planned, "index" | "leaving" | "stream" | "tokensPerEvent">,
	callerRequest: Pick<CallerRequest, "path" | "body" | "headers">,
	world: CallerWorld,
): Promise<CallerRecord> {
	const { index, leaving, stream } = planned;
	const { agent, authorization, steps, url } = world;
	const received: CallerRecord = {
		index,
		startedAt: performance.now(),
		endedAt: 0,
		end: "broken",
		tokens: [],
		errorFrame: false,
	};
	return new Promise((resolve) => {
		let text = "";
		let finished = false;
		let timer: NodeJS.Timeout | undefined;
		const finish = (end: End) => {
			if (finished) return;
			finished = true;
			clearTimeout(timer);
			clearTimeout(timeout);
			received.endedAt = performance.now();
			received.end = end;
			if (received.status === 200) received.tokens = tokensIn(text);
			else if (text) received.body = text.slice(0, 400);
			received.errorFrame = stream && ERROR_FRAME.test(text);
			steps.leave(index);
			resolve(received);
		};
		const leave = () => {
			finish("disconnected");
			sent.destroy();
		};
		const read = (response: IncomingMessage) => {
			received.status = response.statusCode ?? 0;
			received.headers = response.headers;
			const {
				"cf-ai-req-id": id,
				"cf-ai-neurons": neurons,
				"x-ganglion-attempts": attempts,
			} = response.headers;
			if (typeof id === "string") received.id = id;
			if (typeof neurons === "string") received.neurons = neurons;
			if (typeof attempts === "string") received.attempts = attempts;
			response.setEncoding("utf8");
			response.on("data", (piece: string) => {
				text += piece;
				if (text.length > MAX_BODY_CHARACTERS) return leave();
				if (!stream || finished) return;
				const events = Math.floor(lastOf(tokensIn(text)) / planned.tokensPerEvent);
				if (leaving.when === "during" && events >= leaving.event) leave();
				else steps.got(index, events);
			});
			response.on("end", () => {
				finish(response.complete ? "complete" : "broken");
				if (leaving.when === "after") sent.destroy();
			});
			response.on("error", () => finish("broken"));
			response.on("close", () => finish("broken"));
		};
		const body = JSON.stringify(callerRequest.body);
		const sent = request(
			url + callerRequest.path,
			{
				method: "POST",
				// A connection that will be reset must not be shared with another request.
				agent: leaving.when === "after" ? false : agent,
				headers: {
					...callerRequest.headers,
					authorization,
					"content-type": "application/json",
					"content-length": Buffer.byteLength(body),
				},
			},
			read,
		);
		sent.on("error", (error: NodeJS.ErrnoException) =>
			finish(error.code === "ECONNREFUSED" ? "unreachable" : "broken"),
		);
		if (leaving.when === "before") timer = setTimeout(leave, leaving.ms);
		const timeout = setTimeout(leave, MAX_MS);
		sent.end(body);
	});
}
