/** A caller that plays its part of the plan, and keeps what it saw. */
import { type Agent, type IncomingMessage, request } from "node:http";
import { type Planned, tokensIn } from "./plan.ts";
import type { Question } from "./question.ts";
import type { Steps } from "./steps.ts";

/**
 * How it ended. `complete`: all of a body came. `left`: the caller went. `broken`: the connection did. `unreachable`:
 * there was none.
 */
export type End = "complete" | "left" | "broken" | "unreachable";

export interface Heard {
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
	/** Tokens in the order in which they came. */
	tokens: number[];
	/** A stream that ended in an error frame. */
	errorFrame: boolean;
	/** Of a refusal. */
	body?: string;
}

/** Beyond it a body is not what was asked for. */
const MAX_BODY_CHARACTERS = 1_000_000;
const MAX_MS = 60_000;
const ERROR_FRAME = /"errors?":\s*[{[]|"type":"error"|response\.failed/;

/** The number of the last token: some dialects say at the end all that they have said. */
export const lastOf = (tokens: readonly number[]): number => Math.max(0, ...tokens);

export interface CallerWorld {
	url: string;
	agent: Agent;
	authorization: string;
	steps: Steps;
}

export function ask(planned: Planned, question: Question, world: CallerWorld): Promise<Heard> {
	const { index, leaving, stream } = planned;
	const { agent, authorization, steps, url } = world;
	const heard: Heard = {
		index,
		startedAt: performance.now(),
		endedAt: 0,
		end: "broken",
		tokens: [],
		errorFrame: false,
	};
	return new Promise((resolve) => {
		let text = "";
		let over = false;
		let timer: NodeJS.Timeout | undefined;
		const finish = (end: End) => {
			if (over) return;
			over = true;
			clearTimeout(timer);
			clearTimeout(patience);
			heard.endedAt = performance.now();
			heard.end = end;
			if (heard.status === 200) heard.tokens = tokensIn(text);
			else if (text) heard.body = text.slice(0, 400);
			heard.errorFrame = stream && ERROR_FRAME.test(text);
			steps.leave(index);
			resolve(heard);
		};
		const leave = () => {
			finish("left");
			sent.destroy();
		};
		const read = (response: IncomingMessage) => {
			heard.status = response.statusCode ?? 0;
			const {
				"cf-ai-req-id": id,
				"cf-ai-neurons": neurons,
				"x-ganglion-attempts": attempts,
			} = response.headers;
			if (typeof id === "string") heard.id = id;
			if (typeof neurons === "string") heard.neurons = neurons;
			if (typeof attempts === "string") heard.attempts = attempts;
			response.setEncoding("utf8");
			response.on("data", (piece: string) => {
				text += piece;
				if (text.length > MAX_BODY_CHARACTERS) return leave();
				if (!stream || over) return;
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
		const body = JSON.stringify(question.body);
		const sent = request(
			url + question.path,
			{
				method: "POST",
				// A connection that is torn must not be another's by then.
				agent: leaving.when === "after" ? false : agent,
				headers: {
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
		const patience = setTimeout(leave, MAX_MS);
		sent.end(body);
	});
}
