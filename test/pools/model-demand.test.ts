import { expect, it } from "vitest";
import {
	DemandReports,
	type ModelDemand,
	nextPreloadAt,
	preloadedHour,
} from "../../src/pools/model-demand.ts";

const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`);
const CHAT: ModelDemand = { backend: "vllm", model: "@cf/meta/llama-3", task: "text-generation" };

it.each([
	["08:54:59.999", "08:55:00"],
	["08:55:00", "09:55:00"],
	["09:10:00", "09:55:00"],
])("after %s, models are loaded at %s", (now, next) => {
	expect(nextPreloadAt(at(now))).toBe(at(next));
});

it.each([
	["08:55:00", "09:00:00"],
	["09:54:59", "09:00:00"],
	["09:55:00", "10:00:00"],
])("at %s, the models of the hour from %s are loaded", (now, hour) => {
	expect(preloadedHour(at(now))).toBe(at(hour) / 3_600_000);
});

it("each model is reported once in an hour, and again after a failure", async () => {
	const state = { now: at("08:10:00"), fails: false };
	const reported: string[] = [];
	const background: Promise<unknown>[] = [];
	const reports = new DemandReports({
		now: () => state.now,
		waitUntil: (work) => background.push(work),
		async report({ backend, model, task }) {
			reported.push(`${backend} ${model} ${task}`);
			if (state.fails) throw new Error("the object is not reachable");
		},
	});
	const count = async (demand: ModelDemand) => {
		reported.length = 0;
		reports.add(demand);
		await Promise.all(background.splice(0));
		return reported.length;
	};
	expect(await count(CHAT)).toBe(1);
	expect(await count(CHAT)).toBe(0);
	expect(await count({ ...CHAT, model: "other" })).toBe(1);
	expect(await count({ ...CHAT, backend: "other" })).toBe(1);
	expect(await count({ ...CHAT, task: "text-embeddings" })).toBe(1);
	state.now = at("08:59:59.999");
	expect(await count(CHAT)).toBe(0);
	state.now = at("09:00:00");
	state.fails = true;
	expect(await count(CHAT)).toBe(1);
	state.fails = false;
	expect(await count(CHAT)).toBe(1);
	expect(await count(CHAT)).toBe(0);
});

it("at most 1,000 models are reported in an hour", () => {
	let now = at("08:10:00");
	let reported = 0;
	const reports = new DemandReports({
		now: () => now,
		waitUntil: () => {},
		report: async () => void reported++,
	});
	for (let i = 0; i < 1_001; i++) reports.add({ ...CHAT, model: `m${i}` });
	expect(reported).toBe(1_000);
	now = at("09:00:00");
	reports.add({ ...CHAT, model: "m1000" });
	expect(reported).toBe(1_001);
});
