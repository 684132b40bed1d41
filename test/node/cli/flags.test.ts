import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { settingsOfFlags } from "../../../cli/engine-settings.ts";
import {
	readBackend,
	readCount,
	readHost,
	readPort,
	readPorts,
	readRoute,
	readWorkers,
} from "../../../cli/flags.ts";
import { program } from "../../../cli/program.ts";
import { ConfigError } from "../../../src/config/index.ts";

describe("--backend", () => {
	it.each([
		["ollama=http://localhost:11434", { name: "ollama", kind: "ollama", url: "http://localhost:11434" }],
		["gpu=http://gpu-1:8000/v1", { name: "gpu", kind: "openai", url: "http://gpu-1:8000/v1" }],
		["gpu=tei+https://gpu-1:8080", { name: "gpu", kind: "tei", url: "https://gpu-1:8080" }],
		["a=http://h/v1?x=y", { name: "a", kind: "openai", url: "http://h/v1?x=y" }],
	])("reads %s", (text, { name, ...settings }) =>
		expect(settingsOfFlags({}, { backend: readBackend(text) }).BACKENDS).toEqual({ [name]: settings }),
	);

	it.each(["ollama", "=http://localhost", "ollama=localhost:11434", "a=Vllm+http://h"])(
		"refuses %s",
		(text) => expect(() => readBackend(text)).toThrow("Expected NAME=URL"),
	);
});

describe("--route", () => {
	it.each([
		["@cf/meta/*=ollama:llama3.2:3b", { pattern: "@cf/meta/*", backend: "ollama", model: "llama3.2:3b" }],
		["*=gpu", { pattern: "*", backend: "gpu" }],
		["*=gpu:meta-llama/Llama-3.1=x", { pattern: "*", backend: "gpu", model: "meta-llama/Llama-3.1=x" }],
	])("reads %s", (text, route) => expect(readRoute(text)).toEqual([route]));

	it.each(["*", "=gpu", "*=:model"])("refuses %s", (text) =>
		expect(() => readRoute(text)).toThrow("Expected PATTERN=BACKEND"),
	);
});

describe("settings of flags", () => {
	const backend = readBackend("b=http://b/v1");
	const route = readRoute("x=a:second", readRoute("x=b:first"));

	it("change nothing without flags", () => expect(settingsOfFlags({ BACKENDS: "{" }, {})).toEqual({}));

	it("come before those of the file, and keep the order of the targets", () => {
		const settings = {
			BACKENDS: '{"a":{"kind":"openai","url":"http://a"},"b":{"kind":"tei","url":"http://old"}}',
			ROUTES: { y: [{ backend: "a" }], x: [{ backend: "a" }] },
		};
		const { BACKENDS, ROUTES } = settingsOfFlags(settings, { backend, route });
		expect(BACKENDS).toEqual({
			b: { kind: "openai", url: "http://b/v1" },
			a: { kind: "openai", url: "http://a" },
		});
		expect(JSON.stringify(ROUTES)).toBe(
			'{"x":[{"backend":"b","model":"first"},{"backend":"a","model":"second"}],"y":[{"backend":"a"}]}',
		);
	});

	it("accept settings that are absent or empty", () => {
		expect(settingsOfFlags({ ROUTES: "" }, { backend })).toEqual({
			BACKENDS: { b: { kind: "openai", url: "http://b/v1" } },
			ROUTES: {},
		});
	});

	it("refuse a setting that is no object", () =>
		expect(() => settingsOfFlags({ BACKENDS: "[" }, { backend })).toThrow(ConfigError));
});

describe("numbers and addresses", () => {
	it("have limits", () => {
		expect(readPort()("65535")).toBe(65_535);
		for (const text of ["0", "65536", "80a", "", "-1", "1e3"])
			expect(() => readPort()(text)).toThrow("from 1 to 65535");
		expect(readPorts("11434,8080")).toEqual([11_434, 8080]);
		expect(() => readPorts("11434,")).toThrow();
		expect(readCount("7")).toBe(7);
		for (const text of ["0", "1.5", "x"]) expect(() => readCount(text)).toThrow("above 0");
		expect(readHost("[::1]")).toBe("::1");
		expect(() => readHost("")).toThrow("Expected an address");
	});
});

describe("--workers", () => {
	it("is a number from 1 to 64", () => {
		expect(["1", "64"].map(readWorkers)).toEqual([1, 64]);
		for (const text of ["0", "65", "two"]) expect(() => readWorkers(text)).toThrow("Expected a");
	});
});

describe("an empty value", () => {
	interface Named {
		names: readonly string[];
		command: Command;
	}
	/** All commands, with those inside of others. */
	const commandsIn = (command: Command, names: readonly string[] = []): Named[] =>
		command.commands.flatMap((inner) => {
			const own = [...names, inner.name()];
			return [{ names: own, command: inner }, ...commandsIn(inner, own)];
		});
	const silent = (command: Command): Command => {
		command.exitOverride().configureOutput({ writeErr() {} });
		for (const inner of command.commands) silent(inner);
		return command;
	};
	const refusal = (args: readonly string[]): Promise<unknown> =>
		silent(program("0.1.0", {}, () => {}))
			.parseAsync([...args], { from: "user" })
			.then(
				() => "runs",
				(error: unknown) => (error instanceof Error ? error.message : error),
			);
	/** `complete` completes a word, which is empty at first (`installed.test.ts`). */
	const all = commandsIn(program("0.1.0", {}, () => {})).filter(({ names }) => names[0] !== "complete");

	it.each(
		all.flatMap(({ command, names }) =>
			command.options.filter(({ required }) => required).map(({ long }) => [...names, long ?? ""]),
		),
	)("is refused: ganglion %s %s %s", async (...args) => {
		expect(await refusal([...args.filter(Boolean), ""])).toMatch(
			/expected a value, found an empty text|argument '' is invalid/,
		);
	});

	it.each(
		all.flatMap(({ command, names }) =>
			command.registeredArguments.map((argument, position) => ({
				...{ command: names.join(" "), argument: argument.name() },
				args: [
					...names,
					...command.options.filter(({ mandatory }) => mandatory).map(({ long }) => `${long}=x`),
					...command.registeredArguments.map((_, index) => (index === position ? "" : "x")),
				],
			})),
		),
	)("is refused: ganglion $command <$argument>", async ({ args, argument }) => {
		const problem = await refusal(args);
		expect(problem).toContain(argument);
		expect(problem).toMatch(/expected a value, found an empty text|argument value '' is invalid/);
	});

	it("is refused where an argument must be", async () => {
		expect(await refusal(["create", ""])).toBe(
			"error: <folder>: expected a value, found an empty text (is a variable of the shell not set?)",
		);
		for (const files of [
			["", "a.pdf"],
			["a.pdf", ""],
		])
			expect(await refusal(["markdown", ...files])).toMatch(/<files?>: expected a value/);
		expect(await refusal(["search", "sync", "", "--instance", "docs"])).toContain(
			"<folder>: expected a value",
		);
	});

	it("names the option, and is not the current folder", async () => {
		const problem =
			"error: --state <folder>: expected a value, found an empty text (is a variable of the shell not set?)";
		expect(await refusal(["serve", "--state", ""])).toBe(problem);
		expect(await refusal(["serve", "--state="])).toBe(problem);
	});
});
