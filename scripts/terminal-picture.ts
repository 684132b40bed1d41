/**
 * Writes `docs/terminal.svg`: the commands of the README and what they print, in a terminal (`script` of util-linux).
 * `npm run build && node scripts/terminal-picture.ts`. `test/node/cli/installed.test.ts` compares it with the installed package.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const CLI = resolve("dist/cli/index.js");
const FILE = resolve("docs/terminal.svg");
const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
/** The two terminals: one command runs while the other is entered. */
const GATEWAY = "npx ganglion dev";
const REQUEST = `npx ganglion try ${MODEL} 'Hello, who are you?'`;
const READY = "Ctrl-C stops it";
const CTRL_C = "\x03";

/** In pixels. */
const SIZE = { margin: 20, char: 7.83, line: 20, font: 13 };
const COLORS = { background: "#16161a", text: "#d6d6dc", prompt: "#f6821f", command: "#ffffff" };

const folder = mkdtempSync(join(tmpdir(), "ganglion-terminal-"));
try {
	const gateway = run(`${GATEWAY} --no-local-engines`);
	const started = await gateway.until(READY);
	const request = run(REQUEST);
	await request.exit;
	gateway.stop();
	await gateway.exit;
	const screen = [`$ ${GATEWAY}`, ...linesOf(started), "", `$ ${REQUEST}`, ...linesOf(request.output())];
	writeFileSync(FILE, svgOf(screen));
} finally {
	rmSync(folder, { recursive: true, force: true });
}

interface Run {
	output(): string;
	/** Resolves with the output when it contains the text. */
	until(text: string): Promise<string>;
	exit: Promise<unknown>;
	/** As the user does. */
	stop(): void;
}

/** Runs a command of the package in a pseudo-terminal, in an empty folder. */
function run(command: string): Run {
	const line = command.replace("npx ganglion", `"${process.execPath}" "${CLI}"`);
	const child: ChildProcess = spawn(
		"script",
		["--quiet", "--return", "--command", `exec ${line}`, "/dev/null"],
		{
			cwd: folder,
			stdio: ["pipe", "pipe", "inherit"],
		},
	);
	let output = "";
	child.stdout?.setEncoding("utf8").on("data", (text: string) => {
		output += text;
	});
	const exit = once(child, "exit");
	return {
		output: () => output,
		async until(text) {
			while (!output.includes(text)) {
				const ended = await Promise.race([exit, once(child.stdout ?? child, "data").then(() => undefined)]);
				if (ended && !output.includes(text)) throw new Error(output);
			}
			return output;
		},
		exit,
		stop: () => child.stdin?.write(CTRL_C),
	};
}

/** Without the empty lines at both ends. */
function linesOf(output: string): string[] {
	return output.replaceAll("\r", "").trimEnd().replace(/^\n+/, "").split("\n");
}

function svgOf(lines: readonly string[]): string {
	const columns = Math.max(...lines.map(({ length }) => length));
	const width = Math.ceil(columns * SIZE.char) + 2 * SIZE.margin;
	const height = lines.length * SIZE.line + 2 * SIZE.margin;
	const rows = lines.map((line, index) => {
		const y = SIZE.margin + (index + 0.75) * SIZE.line;
		return line === "" ? "" : `<text x="${SIZE.margin}" y="${y}">${spansOf(line)}</text>`;
	});
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: ${GATEWAY}, then a request">
<style>text{font:${SIZE.font}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${COLORS.text};white-space:pre}.p{fill:${COLORS.prompt}}.c{fill:${COLORS.command};font-weight:600}</style>
<rect width="${width}" height="${height}" rx="10" fill="${COLORS.background}"/>
${rows.filter(Boolean).join("\n")}
</svg>
`;
}

function spansOf(line: string): string {
	return line.startsWith("$ ")
		? `<tspan class="p">$ </tspan><tspan class="c">${escaped(line.slice(2))}</tspan>`
		: escaped(line);
}

function escaped(text: string): string {
	return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
