import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { INPUT_SHAPES, OUTPUT_SHAPES } from "../../src/models/family.ts";
import { TASKS } from "../../src/tasks/index.ts";
import { INNER_LAYERS, LAYERS } from "./layers.ts";

const MAX_LINES = 300;
const MAX_COMMENT_CHARACTERS = 150;

const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) =>
	file.endsWith(".ts"),
);
const folderOf = (file: string): string => file.split("/")[0] ?? file;
const depthIn = (layers: typeof LAYERS, name: string): number =>
	layers.findIndex((names) => names.includes(name));
const depthOf = (folder: string): number => depthIn(LAYERS, folder);
const generated = (file: string): boolean => file === "worker-configuration.d.ts";

/** Imports of values and types, from the root of the project. */
const importsIn = (file: string): string[] =>
	[...readFileSync(file, "utf8").matchAll(/(?:from|import)[\s(]+"(\.[^"]+)"/g)]
		.map(([, path]) => normalize(join(dirname(file), path ?? "")))
		.filter((path) => /\.tsx?$/.test(path));
const importsOf = (file: string): string[] =>
	importsIn(join("src", file)).map((path) => path.replace(/^src\//, ""));

/** Files that import each other, from one of them back to it. Empty if there are none. */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string[] {
	const done = new Set<string>();
	const path: string[] = [];
	const visit = (file: string): string[] => {
		if (done.has(file)) return [];
		if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
		path.push(file);
		for (const imported of imports.get(file) ?? []) {
			const circle = visit(imported);
			if (circle.length > 0) return circle;
		}
		path.pop();
		done.add(file);
		return [];
	};
	for (const file of imports.keys()) {
		const circle = visit(file);
		if (circle.length > 0) return circle;
	}
	return [];
}

const longComments = (text: string): string[] =>
	text
		.split("\n")
		.filter((line) => line.length > MAX_COMMENT_CHARACTERS && /^\t*(?:\/\*\*| \*|\/\/) /.test(line));

/** Names without a technical meaning. */
const BANNED_NAMES = new Set(["said", "told", "whoever", "nobody", "journey"]);
/** Folders and files whose names are clean. The list only grows. */
const CLEAN = [
	"src/backends",
	"src/config",
	"src/core",
	"src/app.ts",
	"src/persistent-services.ts",
	"src/services.ts",
	"src/http",
	"src/surfaces",
	"test/http",
	"test/surfaces",
	"test/gateway.ts",
	"src/fleet",
	"src/gateways",
	"src/pipeline",
	"src/pools",
	"src/providers",
	"src/telemetry",
	"src/counting",
	"src/dialects",
	"src/retrieval",
	"src/media",
	"src/streams",
	"src/models",
	"src/schemas",
	"src/tasks",
	"test/dialects",
	"test/hosts",
	"cli",
	"miniflare",
	"scripts",
	"tools",
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
		const declared = declaredWords(readFileSync(file, "utf8"));
		expect(declared.filter((word) => BANNED_NAMES.has(word))).toEqual([]);
	});

	it("finds declarations of all kinds", () => {
		const text = "const wasTold = (nobody: string, said?: number): void => {};\ninterface Journey {}";
		expect(declaredWords(text)).toEqual(expect.arrayContaining(["told", "nobody", "said", "journey"]));
	});
});

describe("layout", () => {
	it.each(files.filter((file) => !generated(file)))("%s imports from further in", (file) => {
		const from = folderOf(file);
		expect(depthOf(from), `${from} is in no layer`).toBeGreaterThanOrEqual(0);
		for (const path of importsOf(file)) {
			const to = folderOf(path);
			if (from === to) continue;
			expect(depthOf(to), `${file} imports ${path}`).toBeGreaterThan(depthOf(from));
		}
	});

	describe.each(Object.entries(INNER_LAYERS))("in src/%s", (folder, layers) => {
		/** The folder or the file in it. */
		const nameOf = (path: string): string => path.split("/")[1] ?? "";

		it.each(files.filter((file) => folderOf(file) === folder))("%s imports from further in", (file) => {
			const from = nameOf(file);
			expect(depthIn(layers, from), `${from} is in no layer`).toBeGreaterThanOrEqual(0);
			const inner = importsOf(file).filter((path) => folderOf(path) === folder && nameOf(path) !== from);
			for (const path of inner)
				expect(depthIn(layers, nameOf(path)), `${file} imports ${path}`).toBeGreaterThan(
					depthIn(layers, from),
				);
		});
	});

	it("reads real import lines", () => {
		expect(importsOf("index.ts")).toContain("config/index.ts");
	});

	const sourcesIn = (...folders: string[]): string[] =>
		folders.flatMap((folder) =>
			readdirSync(folder, { recursive: true, encoding: "utf8" })
				.filter((file) => /\.tsx?$/.test(file) && !file.includes("node_modules"))
				.map((file) => join(folder, file)),
		);
	const sources = sourcesIn("src", "cli", "console/src", "engine", "miniflare", "scripts", "tools");
	const all = [...sources, ...sourcesIn("test")];

	it("has the comment of a file directly before its first import", () => {
		const hasGap = /^\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\nimport /;
		expect(all.filter((file) => hasGap.test(readFileSync(file, "utf8")))).toEqual([]);
		expect('/** A file. */\n\nimport { a } from "a";').toMatch(hasGap);
	});

	it(`has no line of a comment with more than ${MAX_COMMENT_CHARACTERS} characters`, () => {
		expect(all.flatMap((file) => longComments(readFileSync(file, "utf8")))).toEqual([]);
		const long = "x".repeat(MAX_COMMENT_CHARACTERS);
		expect(longComments(`/** ${long} */\n\t * ${long}\n\t// ${long}\nconst a = "${long}";`)).toHaveLength(3);
	});

	it("has no files that import each other in a circle, not even types", () => {
		expect(circleIn(new Map(all.map((file) => [file, importsIn(file)])))).toEqual([]);
	});

	/** The platform's decoder is slow for large texts in UTF-8. */
	const DECODERS = {
		"src/media/utf8.ts": "The place.",
		"src/http/socket.ts": "A short text, without a character that is cut off.",
		"src/streams/json-bytes.ts": "A byte order mark inside a JSON string is text.",
		"src/surfaces/vectorize/upload.ts": "Strict, in pieces of a network.",
		"src/retrieval/documents/decode.ts": "Other charsets.",
		"src/gateways/scanning/text-collector.ts": "Other charsets.",
		"src/retrieval/documents/container.ts": "Bytes as characters.",
		"src/retrieval/search/sources/page-kind.ts": "Bytes as characters.",
		"src/streams/event-splitter.ts": "Bytes as characters.",
	};

	it("a UTF-8 decoder is made only in src/media/utf8.ts, and in files with a reason", () => {
		const makers = sourcesIn("src").filter((file) => readFileSync(file, "utf8").includes("new TextDecoder("));
		expect(makers.sort()).toEqual(Object.keys(DECODERS).sort());
	});

	it("finds circles", () => {
		const imports = { a: ["b"], b: ["c", "d"], c: [], d: ["e"], e: ["b"] };
		expect(circleIn(new Map(Object.entries(imports)))).toEqual(["b", "d", "e", "b"]);
	});

	it.each(files.filter((file) => !generated(file)))("%s is short, or its head has the reason", (file) => {
		const text = readFileSync(join("src", file), "utf8");
		const lines = text.split("\n").length;
		if (lines > MAX_LINES) expect(text.slice(0, 1500), `${lines} lines`).toMatch(/One file because/);
	});
});

describe("tests", () => {
	it("replace no module: the files of a project share them, so another file would get the replacement", () => {
		const tests = readdirSync("test", { recursive: true, encoding: "utf8" }).filter((file) =>
			file.endsWith(".ts"),
		);
		expect(tests.length).toBeGreaterThan(800);
		const replaces = /\bvi\.(?:mock|doMock)\(/;
		expect(tests.filter((file) => replaces.test(readFileSync(join("test", file), "utf8")))).toEqual([]);
	});
});

describe("tables", () => {
	const sources = files.filter((file) => !generated(file));
	const textOf = (file: string): string => readFileSync(join("src", file), "utf8");

	const namesIn = (text: string, names: readonly string[]): string[] =>
		names.filter((name) => text.includes(`"${name}"`));

	it.each(sources.filter((file) => !/^(tasks|dialects|backends|models)\//.test(file)))(
		"%s names no task",
		(file) => {
			expect(namesIn(textOf(file), Object.keys(TASKS))).toEqual([]);
		},
	);

	/** `=== "chat"`, `"chat" ===` and `case "chat"`, for names that are used for nothing else. */
	const comparedIn = (text: string): string[] => {
		const others = [
			...Object.keys(TASKS),
			"messages",
			"embeddings",
			"chat",
			"transcription",
			"description",
			"summary",
			"turn",
		];
		return [...new Set<string>([...INPUT_SHAPES, ...OUTPUT_SHAPES])]
			.filter((name) => !others.includes(name))
			.filter((name) => new RegExp(`(===|!==|case) "${name}"|"${name}" (===|!==)`).test(text));
	};

	it.each(sources)("%s compares no name of a family", (file) => {
		const text = textOf(file);
		expect(comparedIn(text)).toEqual([]);
		expect(text).not.toMatch(/\b(model\.(in|out)put|upstreamModel\(\w+\)\.(in|out)put) (===|!==) "/);
	});

	it("finds comparisons", () => {
		expect(comparedIn('if (shape === "chat-guided") {}')).toEqual(["chat-guided"]);
		expect(comparedIn('case "embeddings-bge":')).toEqual(["embeddings-bge"]);
		expect(namesIn('call.task === "reranking"', Object.keys(TASKS))).toEqual(["reranking"]);
	});
});

describe("the soak's books", () => {
	const soak = readdirSync("tools/soak", { recursive: true, encoding: "utf8" }).filter((file) =>
		file.endsWith(".ts"),
	);

	/** These run inside the gateway, as parts of it. */
	const wrappers = [
		"batches/shifted-worker.ts",
		"faulty-account.ts",
		"scenario-worker.ts",
		"storage-worker.ts",
	];

	it.each(soak.filter((file) => !wrappers.includes(file)))("soak/%s imports nothing of src/", (file) => {
		const imports = [
			...readFileSync(join("tools/soak", file), "utf8").matchAll(/(?:from|import)[\s(]+"([^"]+)"/g),
		];
		expect(imports.map(([, path = ""]) => path).filter((path) => path.includes("/src/"))).toEqual([]);
	});

	it("reads real import lines", () => {
		expect(soak).toContain("books.ts");
		expect(readFileSync(join("tools/soak", "faulty-account.ts"), "utf8")).toMatch(
			/from "\.\.\/\.\.\/src\/index\.ts"/,
		);
	});
});
