import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";

/** Folders and files, outermost first. A file imports from its own folder, or from one further down this list. */
const ROOMS: readonly (readonly string[])[] = [
	["index.ts"],
	["app.ts", "services.ts"],
	["config"],
	["surfaces"],
	["http"],
	["pipeline"],
	["providers", "telemetry"],
	["backends", "dialects", "markdown"],
	["accounts", "fleet"],
	["metering"],
	["tasks"],
	["counting"],
	["models"],
	["streams", "schemas"],
	["core"],
	["media"],
];
const MAX_LINES = 300;

const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) =>
	file.endsWith(".ts"),
);
const roomOf = (file: string): string => file.split("/")[0] ?? file;
const depthOf = (room: string): number => ROOMS.findIndex((rooms) => rooms.includes(room));
const generated = (file: string): boolean => file === "worker-configuration.d.ts";

const importsOf = (file: string): string[] =>
	[...readFileSync(join("src", file), "utf8").matchAll(/(?:from|import)[\s(]+"(\.[^"]+)"/g)]
		.map(([, path]) => normalize(join(dirname(file), path ?? "")))
		.filter((path) => path.endsWith(".ts"));

/** Names without a technical meaning. */
const BANNED_NAMES = new Set(["said", "told", "whoever", "nobody", "journey"]);
/** Folders and files whose names are clean. The list only grows. */
const CLEAN = [
	"src/telemetry/log.ts",
	"src/counting",
	"src/markdown",
	"src/media",
	"src/metering",
	"src/models",
	"src/schemas",
	"src/tasks",
	"bench",
	"miniflare",
	"soak/progress.ts",
	"soak/random.ts",
];

/** Identifiers that a file declares, in lower-case words: `wasTold` declares `was` and `told`. */
const declaredWords = (text: string): string[] =>
	[
		...text.matchAll(/\b(?:const|let|function|class|interface|type)\s+([\w$]+)/g),
		...text.matchAll(/(?:^|[\s(,{])#?([A-Za-z_$][\w$]*)\??\s*[:=]/g),
	].flatMap(([, name = ""]) => name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase()));

const cleanFiles = CLEAN.flatMap((path) =>
	path.endsWith(".ts")
		? [path]
		: readdirSync(path, { recursive: true, encoding: "utf8" })
				.filter((file) => file.endsWith(".ts") && !file.includes("node_modules"))
				.map((file) => join(path, file)),
);

describe("names", () => {
	it.each(cleanFiles)("%s declares no banned name", (file) => {
		const words = declaredWords(readFileSync(file, "utf8"));
		expect(words.filter((word) => BANNED_NAMES.has(word))).toEqual([]);
	});

	it("finds declarations of all kinds", () => {
		const text = "const wasTold = (nobody: string, said?: number): void => {};\ninterface Journey {}";
		expect(declaredWords(text)).toEqual(expect.arrayContaining(["told", "nobody", "said", "journey"]));
	});
});

describe("layout", () => {
	it.each(files.filter((file) => !generated(file)))("%s imports from further in", (file) => {
		const from = roomOf(file);
		expect(depthOf(from), `${from} is no room`).toBeGreaterThanOrEqual(0);
		for (const path of importsOf(file)) {
			const to = roomOf(path);
			if (from === to) continue;
			expect(depthOf(to), `${file} imports ${path}`).toBeGreaterThan(depthOf(from));
		}
	});

	it("reads real import lines", () => {
		expect(importsOf("index.ts")).toContain("config/index.ts");
	});

	it.each(files.filter((file) => !generated(file)))("%s is short, or says why not", (file) => {
		const text = readFileSync(join("src", file), "utf8");
		const lines = text.split("\n").length;
		if (lines > MAX_LINES) expect(text.slice(0, 1500), `${lines} lines`).toMatch(/One file because/);
	});
});

describe("the soak's books", () => {
	const soak = readdirSync("soak", { recursive: true, encoding: "utf8" }).filter((file) =>
		file.endsWith(".ts"),
	);

	/** These run inside the gateway, as parts of it. */
	const wrappers = ["faulty-account.ts", "scenario-worker.ts"];

	it.each(soak.filter((file) => !wrappers.includes(file)))("soak/%s imports nothing of src/", (file) => {
		const imports = [...readFileSync(join("soak", file), "utf8").matchAll(/(?:from|import)[\s(]+"([^"]+)"/g)];
		expect(imports.map(([, path = ""]) => path).filter((path) => path.includes("/src/"))).toEqual([]);
	});

	it("reads real import lines", () => {
		expect(soak).toContain("books.ts");
		expect(readFileSync(join("soak", "faulty-account.ts"), "utf8")).toMatch(/from "\.\.\/src\/index\.ts"/);
	});
});
