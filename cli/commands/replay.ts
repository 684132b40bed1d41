/** `ganglion replay`: sends requests of a gateway's log to another model, and shows the answers side by side. */
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { batchLine, ENDED, showLine } from "../progress-line.ts";
import { printJson, table } from "../table.ts";

export interface ReplayFlags extends ConnectionFlags {
	gateway: string;
	judge?: string;
	limit?: number;
	oldest?: boolean;
	search?: string;
	/** `KEY=VALUE`, `KEY<VALUE`, `KEY>VALUE`, `KEY~VALUE` or `KEY!=VALUE`. */
	filter?: string[];
	/** The id of a replay that exists. */
	id?: string;
}

const POLL_MS = 1_000;
const PER_PAGE = 50;
const SHOWN_CHARACTERS = 32;
const FILTER = /^([\w.]+)(!=|=|<|>|~)(.*)$/s;
const OPERATORS: Readonly<Record<string, string>> = {
	"=": "eq",
	"!=": "neq",
	"<": "lt",
	">": "gt",
	"~": "contains",
};
/** Marks that change how a terminal shows other text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu;

const Replay = z.looseObject({
	id: z.string(),
	status: z.string(),
	logs: z.object({ total: z.number(), completed: z.number(), failed: z.number() }),
	usage: z.looseObject({ neurons: z.number() }),
	waiting: z.object({ message: z.string() }).optional(),
});
type WatchedReplay = z.output<typeof Replay>;

const Answer = z.looseObject({
	text: z.string(),
	tool_calls: z.array(z.object({ name: z.string(), arguments: z.string() })).optional(),
	tokens_out: z.number().nullable(),
	cost: z.number().nullable(),
	duration: z.number().nullable(),
});
type ShownAnswer = z.output<typeof Answer>;
const Result = z.looseObject({
	created_at: z.string(),
	before: Answer.optional(),
	after: Answer.optional(),
	same: z.boolean().optional(),
	differences: z.array(z.unknown()).optional(),
	judge: z.looseObject({ score: z.number().optional() }).optional(),
	error: z.object({ message: z.string() }).optional(),
});
type ShownResult = z.output<typeof Result>;

/** The exit code is 1 if a log was not answered. */
export async function replayCommand(model: string | undefined, flags: ReplayFlags): Promise<number> {
	const client = new GatewayClient(flags);
	const path = `/ai-gateway/gateways/${encodeURIComponent(flags.gateway)}/replay`;
	const id = flags.id ?? (await create(client, path, model, flags));
	const replay = await watch(client, `${path}/${encodeURIComponent(id)}`);
	const results = await resultsOf(client, `${path}/${encodeURIComponent(id)}/results`);
	if (flags.json) printJson({ ...replay, results });
	else print(results);
	const { total, completed } = replay.logs;
	return replay.status === "completed" && completed === total ? 0 : 1;
}

async function create(
	client: GatewayClient,
	path: string,
	model: string | undefined,
	{ filter = [], gateway, judge, limit, oldest, search }: ReplayFlags,
): Promise<string> {
	if (model === undefined) throw new CommandError("name a model, or a replay that exists with --id");
	const body = {
		...{ model, judge, limit, search },
		filters: filter.map(filterOf),
		...(oldest && { order_by_direction: "asc" }),
	};
	const { id } = await client.result(path, Replay, { method: "POST", body });
	console.error(
		`Replay ${id}. It also runs without this command: npx ganglion replay --gateway ${gateway} --id ${id}`,
	);
	return id;
}

function filterOf(text: string): object {
	const [, key, operator = "", value = ""] = FILTER.exec(text) ?? [];
	if (key === undefined)
		throw new CommandError(
			`--filter ${text}: expected such as model=gpt-5 or created_at>2026-11-01T00:00:00Z`,
		);
	return { key, operator: OPERATORS[operator], value: [value] };
}

async function watch(client: GatewayClient, path: string): Promise<WatchedReplay> {
	let shown = "";
	for (;;) {
		const replay = await client.result(path, Replay);
		const isEnded = ENDED.has(replay.status);
		shown = showLine(batchLine({ ...replay, request_counts: replay.logs }), shown, isEnded);
		if (isEnded) return replay;
		await wait(POLL_MS);
	}
}

async function resultsOf(client: GatewayClient, path: string): Promise<ShownResult[]> {
	const results: ShownResult[] = [];
	for (let page = 1; ; page++) {
		const listed = await client.result(`${path}?page=${page}&per_page=${PER_PAGE}`, z.array(Result));
		results.push(...listed);
		if (listed.length < PER_PAGE) return results;
	}
}

function print(results: readonly ShownResult[]): void {
	if (results.length === 0) {
		console.log("There are no results: their logs were deleted, or no log was answered.");
		return;
	}
	const rows = results.map(({ created_at, before, after, same, differences, judge, error }) => [
		created_at.slice(0, 19),
		shownText(before),
		error ? short(error.message) : shownText(after),
		same === undefined ? "" : same ? "yes" : differences ? `${differences.length} differ` : "no",
		judge?.score === undefined ? "" : judge.score.toFixed(2),
		pair(before?.tokens_out, after?.tokens_out, String),
		pair(before?.cost, after?.cost, dollars),
		pair(before?.duration, after?.duration, String),
	]);
	const titles = ["TIME (UTC)", "LOGGED", "NEW", "SAME", "SCORE", "TOKENS OUT", "US DOLLARS", "MILLISECONDS"];
	console.log(table(titles, rows));
	const answered = results.filter(({ after }) => after);
	const sum = (answers: readonly (ShownAnswer | undefined)[]): string =>
		dollars(answers.reduce((total, answer) => total + (answer?.cost ?? 0), 0));
	console.log(
		`\n${answered.length} answers, ${answered.filter(({ same }) => same).length} the same; ${sum(answered.map(({ before }) => before))} US dollars then, ${sum(answered.map(({ after }) => after))} now`,
	);
}

const short = (text: string): string => {
	const line = text.replace(UNPRINTABLE, " ").trim();
	return line.length <= SHOWN_CHARACTERS ? line : `${line.slice(0, SHOWN_CHARACTERS - 1)}…`;
};

const shownText = (answer: ShownAnswer | undefined): string =>
	short(
		[answer?.text ?? "", ...(answer?.tool_calls ?? []).map((call) => `${call.name}(${call.arguments})`)].join(
			" ",
		),
	);

const dollars = (amount: number): string => amount.toFixed(6);

const pair = (
	before: number | null | undefined,
	after: number | null | undefined,
	shown: (value: number) => string,
): string => [before, after].map((value) => (value == null ? "-" : shown(value))).join(" → ");
