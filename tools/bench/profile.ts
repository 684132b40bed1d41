/**
 * Profiles the gateway's JavaScript under load: V8's samples, summed by function.
 *
 *     npm run profile -- json [--seconds 5] [--rows 40] [--stacks NAME] [--ledger exact]
 *
 * Only the JavaScript thread is sampled: `(program)` is native code (HTTP, streams, RPC, SQLite), `(idle)` is idle time.
 * `--stacks` prints the callers of the functions of that name. The profile uses a bundle that is not minified.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../../scripts/free-port.ts";
import { bundleWorker } from "../../scripts/worker.ts";
import { type Contender, openField } from "./contenders.ts";
import { CHAT, STREAMED_CHAT } from "./context.ts";
import { CACHED, LOGGED, withHeaders } from "./gateways.ts";
import { connectInspector } from "./inspector.ts";
import { type Ask, load, warmUp } from "./load.ts";
import { asksOfNewAccounts } from "./many.ts";
import { type BundledFrame, placesIn } from "./places.ts";

const LOADS: Record<string, (contender: Contender) => Ask | Promise<Ask[]>> = {
	json: (contender) => contender.ask("json", CHAT),
	stream: (contender) => contender.ask("bulk", STREAMED_CHAT, "renamed"),
	responses: (contender) => contender.ask("responses-bulk", STREAMED_CHAT),
	stepped: (contender) => contender.ask("stepped", STREAMED_CHAT, "renamed"),
	steady: (contender) => contender.ask("steady", STREAMED_CHAT, "renamed"),
	passthrough: (contender) => contender.ask("bulk", { ...CHAT, stream: true }, "passthrough"),
	native: (contender) => contender.ask("stepped", { ...CHAT, stream: true }, "native"),
	prompt: (contender) =>
		contender.ask("json", {
			messages: [{ role: "user", content: "All work and no play. ".repeat(1_000_000 / 22) }],
		}),
	hit: (contender) => withHeaders(contender.ask("json", CHAT), CACHED),
	logged: (contender) => withHeaders(contender.ask("json", CHAT), LOGGED),
	accounts: (contender) => asksOfNewAccounts(contender, 1_000),
	"idle-accounts": (contender) => asksOfNewAccounts(contender, 10_000),
	embeddings: (contender) =>
		contender.ask("embeddings", { input: Array.from({ length: 100 }, (_, i) => `Text number ${i}`) }),
};
const CONNECTIONS = 24;
const WARM_UP_ANSWERS = 3_000;
const WARM_UP_MS = 40_000;
const SAMPLE_US = 200;

interface CallFrame extends BundledFrame {
	functionName: string;
}
interface Profile {
	nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
	samples: number[];
	timeDeltas: number[];
}

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		seconds: { type: "string", default: "5" },
		rows: { type: "string", default: "40" },
		stacks: { type: "string" },
		ledger: { type: "string", default: "leased" },
	},
});
const [name = "json"] = positionals;
const askOf = LOADS[name];
if (!askOf) throw new Error(`No such load: ${name}. There are: ${Object.keys(LOADS).join(", ")}`);

const field = await openField();
try {
	const folder = join(field.folder, "readable");
	await bundleWorker(folder, { minify: false });
	const inspectorPort = await freePort();
	const ledger = values.ledger === "exact" ? "exact" : "leased";
	const contender = await field.start("ganglion", { folder, inspectorPort, ledger });
	if (!contender) throw new Error("Ganglion cannot be started");
	const ask = await askOf(contender);
	const loops = [{ ask, connections: CONNECTIONS }];
	const asks = Array.isArray(ask) ? ask.length : 1;
	await warmUp(loops, Math.max(WARM_UP_ANSWERS, 2 * asks), WARM_UP_MS);
	const inspector = await connectInspector(inspectorPort);
	await inspector.send("Profiler.enable");
	await inspector.send("Profiler.setSamplingInterval", { interval: SAMPLE_US });
	await inspector.send("Profiler.start");
	const [count = 0] = await load(loops, Number(values.seconds) * 1000);
	const { profile } = (await inspector.send("Profiler.stop")) as { profile: Profile };
	print(profile, count, placesIn(folder));
	await contender.stop();
} finally {
	await field.close();
}

function print(
	{ nodes, samples, timeDeltas }: Profile,
	count: number,
	placeOf: (frame: CallFrame) => string,
): void {
	const own = new Map<number, number>();
	for (const [i, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[i] ?? 0));
	const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
	const byId = new Map(nodes.map((node) => [node.id, node]));
	const labelOf = (frame: CallFrame): string =>
		`${frame.functionName || "(anonymous)"}${frame.url ? `  ${placeOf(frame)}` : ""}`;

	const self = new Map<string, number>();
	const total = new Map<string, number>();
	for (const node of nodes) {
		const time = own.get(node.id) ?? 0;
		if (time === 0) continue;
		const label = labelOf(node.callFrame);
		self.set(label, (self.get(label) ?? 0) + time);
		const seen = new Set<string>();
		for (let at: number | undefined = node.id; at !== undefined; at = parents.get(at)) {
			const frame = byId.get(at);
			if (frame) seen.add(labelOf(frame.callFrame));
		}
		for (const each of seen) total.set(each, (total.get(each) ?? 0) + time);
	}
	const each = (time: number) => (time / count).toFixed(1).padStart(8);
	console.log(`${count} answers; microseconds an answer: self, with what it calls`);
	const rows = [...self].sort(([, a], [, b]) => b - a).slice(0, Number(values.rows));
	for (const [label, time] of rows) console.log(`${each(time)} ${each(total.get(label) ?? 0)}  ${label}`);
	console.log("\nwith what they call");
	const sums = [...total].sort(([, a], [, b]) => b - a).slice(0, Number(values.rows) * 2);
	for (const [label, time] of sums) console.log(`${each(time)}  ${label}`);

	if (values.stacks === undefined) return;
	const stacks = new Map<string, number>();
	for (const node of nodes) {
		const time = own.get(node.id) ?? 0;
		if (time === 0 || node.callFrame.functionName !== values.stacks) continue;
		const path: string[] = [];
		for (let at = parents.get(node.id); at !== undefined && path.length < 6; at = parents.get(at)) {
			const frame = byId.get(at);
			if (frame) path.push(labelOf(frame.callFrame));
		}
		const text = path.join(" < ");
		stacks.set(text, (stacks.get(text) ?? 0) + time);
	}
	console.log(`\ncallers of ${values.stacks}`);
	for (const [text, time] of [...stacks].sort(([, a], [, b]) => b - a).slice(0, 20))
		console.log(`${each(time)}  ${text}`);
}
