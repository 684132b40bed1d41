import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { announceEngines, withLocalEngines } from "../../../miniflare/engines.ts";
import { readOptions } from "../../../miniflare/options.ts";
import { fake, ollama, stopFakes } from "./fake.ts";

// A busy machine may take longer than the probe waits. test/node/engines/probe.test.ts tests its limit.
beforeEach(() => {
	vi.spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
});
afterEach(() => {
	vi.restoreAllMocks();
	return stopFakes();
});

const said = (): string[] => {
	const lines: string[] = [];
	announceEngines((line) => lines.push(line));
	return lines;
};

describe("options of a binding", () => {
	it("get the engines of this machine, found once, printed once", async () => {
		const { port, asked } = await ollama({ name: "llama3.2:3b", size: "3.2B" });
		const options = { account: "a", localEngines: [port] };
		const settings = await withLocalEngines(options, {});
		expect(settings).toMatchObject({
			account: "a",
			BACKENDS: { ollama: { kind: "ollama", url: `http://127.0.0.1:${port}` } },
		});
		const { length } = asked;
		expect(await withLocalEngines(options, {})).toEqual(settings);
		expect(asked).toHaveLength(length);
		expect(readOptions(settings, {})).toMatchObject({
			kind: "embedded",
			variables: { BACKENDS: settings.BACKENDS, ROUTES: settings.ROUTES },
		});
		expect(said()).toEqual([
			"ganglion: engines on this machine answer (options.localEngines: false leaves them alone)",
			expect.stringContaining(`ollama (http://127.0.0.1:${port}) llama3.2:3b`),
		]);
		expect(said()).toEqual([]);
	});

	it.each([
		[
			"name a route",
			(port: number) => ({ ROUTES: { "*": [{ backend: "simulator" }] }, localEngines: [port] }),
		],
		["say no", () => ({ localEngines: false })],
		["are of a gateway that runs", (port: number) => ({ url: "http://localhost:1", localEngines: [port] })],
		["say what they may not", () => ({ localEngines: "yes" })],
	])("stay as they are where they %s", async (_, optionsFor) => {
		const { port, asked } = await ollama({ name: "llama3.2:3b" });
		const options = optionsFor(port);
		expect(await withLocalEngines(options, {})).toBe(options);
		expect(asked).toEqual([]);
	});

	it("stay as they are where nothing is found, and the named port is announced once", async () => {
		const { port } = await fake({});
		const options = { localEngines: [port] };
		expect(await withLocalEngines(options, {})).toBe(options);
		expect(said()).toEqual([
			`ganglion: options.localEngines: no engine with a model answered on 127.0.0.1:${port}`,
		]);
		expect(await withLocalEngines(options, {})).toBe(options);
		expect(said()).toEqual([]);
	});

	it("stay as they are where no model is similar to one of the catalogue, and the named port is announced", async () => {
		const { port } = await ollama({ name: "nomic-embed-text" });
		const options = { localEngines: [port] };
		expect(await withLocalEngines(options, {})).toBe(options);
		expect(said()).toEqual([
			`ganglion: options.localEngines: no model of the catalogue is similar to those of ollama (http://127.0.0.1:${port}): nomic-embed-text. Name it in ROUTES`,
		]);
	});

	it("name one port with an engine and one without", async () => {
		const { port: empty } = await fake({});
		const { port } = await ollama({ name: "llama3.2:3b", size: "3.2B" });
		await withLocalEngines({ localEngines: [empty, port] }, {});
		expect(said()).toEqual([
			`ganglion: options.localEngines: no engine with a model answered on 127.0.0.1:${empty}`,
			"ganglion: engines on this machine answer (options.localEngines: false leaves them alone)",
			expect.stringContaining(`ollama (http://127.0.0.1:${port}) llama3.2:3b`),
		]);
	});

	it("stay as they are in a test that does not ask for engines", async () => {
		const options = {};
		expect(await withLocalEngines(options, { VITEST: "true" })).toBe(options);
	});

	it.each(["yes", [], [0], [1.5], 7])("take no other value for them: %j", (localEngines) => {
		expect(() => readOptions({ localEngines }, {})).toThrow(
			expect.objectContaining({
				problems: [expect.stringMatching(/^dev\.options\.localEngines/)],
			}),
		);
	});
});
