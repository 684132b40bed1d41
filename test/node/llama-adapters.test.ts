/**
 * Two LoRA adapters at a real `llama-server`, where `LLAMA_SERVER_COMMAND` starts one. The test makes the adapters for the model of the
 * command, and adds the address and the adapters. Any small model does: only the difference of its answers is read.
 *
 *     LLAMA_SERVER_COMMAND="llama-server -m MODEL.gguf --jinja" npx vitest run --project node test/node/llama-adapters
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { openai } from "../../src/backends/openai/index.ts";
import { startNativeTimer } from "../../src/core/lazy-timer.ts";
import { MODEL } from "../backends/upstream.ts";
import { loraFile, readModel } from "./engines/gguf.ts";

const COMMAND = process.env.LLAMA_SERVER_COMMAND;
const IDS = ["01a21cde-e160-7658-a0d4-78cb9cbbbed5", "01a21cdc-f7d2-7ecf-b6f1-2ae042fc3fef"] as const;

describe.skipIf(!COMMAND).each([
	["that apply to no request by themselves", ["--lora-init-without-apply"]],
	["that apply to each request", []],
])("llama-server with two adapters %s (needs LLAMA_SERVER_COMMAND)", (_, apply) => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-lora-"));
	let server: ChildProcess | undefined;
	let origin = "";

	beforeAll(async () => {
		const [program = "", ...options] = (COMMAND ?? "").split(" ");
		const model = readModel(options[options.indexOf("-m") + 1] ?? "");
		const matrix = [...model.matrices.keys()].findLast((name) => name.endsWith("attn_output.weight")) ?? "";
		const files = IDS.map((id, index) => {
			const file = join(folder, `${id}.gguf`);
			writeFileSync(
				file,
				loraFile(model, matrix, (place) => 3 * Math.sin((index + 1) * (place + 1))),
			);
			return file;
		});
		const port = await freePort();
		origin = `http://127.0.0.1:${port}`;
		const added = ["--host", "127.0.0.1", "--port", String(port), "--lora", files.join(",")];
		server = spawn(program, [...options, ...added, ...apply], { stdio: "ignore" });
		await vi.waitFor(
			async () => {
				if (!(await fetch(`${origin}/health`)).ok) throw new Error("The server loads its model");
			},
			{ timeout: 30_000 },
		);
	}, 60_000);
	afterAll(() => {
		server?.kill("SIGKILL");
		rmSync(folder, { recursive: true });
	});

	async function answer(lora?: string): Promise<string> {
		const target = {
			backend: "llama",
			kind: "openai",
			url: `${origin}/v1`,
			model: "any",
			headers: {},
			timeouts: { headerMs: 20_000, idleMs: 10_000, totalMs: 25_000 },
			adapters: { engine: "llama.cpp", seenAs: "", maxLoaded: 16 },
		} as const;
		const services = {
			fetch,
			now: Date.now,
			uuid: () => crypto.randomUUID(),
			waitUntil: () => {},
			startTimer: startNativeTimer,
		};
		const model = { ...MODEL, capabilities: ["lora" as const] };
		const found = await openai(target, services)["text-generation"]?.(
			{
				messages: [{ role: "user", content: "Recite" }],
				...{ stream: false, max_tokens: 24, temperature: 0, seed: 1 },
				...(lora !== undefined && { lora }),
			},
			{
				model,
				signal: new AbortController().signal,
				adapters: {
					find: async (name) => ({
						...{ id: name, name, model: model.id, isComplete: true },
						writeTo: async () => {},
					}),
					ended: Promise.resolve(),
				},
			},
		);
		if (found?.kind !== "value") throw new Error("no answer");
		return JSON.stringify(found.output.choices[0]?.message.content);
	}

	it("answers differently by the adapter, and without one as the base", async () => {
		const [base, first, second] = [await answer(), await answer(IDS[0]), await answer(IDS[1])];
		expect(new Set([base, first, second]).size).toBe(3);
		// Requests with other adapters in between change nothing.
		expect([await answer(IDS[1]), await answer(), await answer(IDS[0])]).toEqual([second, base, first]);
		await expect(answer("01a21cde-0000-7000-8000-000000000000")).rejects.toMatchObject({
			key: "loraUnsupported",
			description: expect.stringContaining("has no adapter 01a21cde-0000-7000-8000-000000000000.gguf"),
		});
	});
});
