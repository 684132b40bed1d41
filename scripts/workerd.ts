/** Runs a Worker in plain `workerd serve`, without a development proxy. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createConnection } from "node:net";
import nodePath, { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { isWasm } from "../miniflare/modules.ts";
import { hasEnded, stop } from "./child.ts";
import { withFileLimit } from "./file-limit.ts";
import { endWithThisProcess } from "./parent.ts";
import { trustedCertificates } from "./trusted-certificates.ts";

export interface WorkerSpec {
	name: string;
	/** The main module is first. */
	modules: readonly { name: string; file: string }[];
	/** Values that are not strings become JSON. */
	vars?: Record<string, unknown>;
	/** Passed in the environment of the process, so that no file contains them. */
	secrets?: Record<string, string>;
	/** Bindings of Durable Objects, and their classes. */
	objects?: { name: string; class_name: string }[];
	/** The objects are empty and in memory, because another process has them. */
	objectsInMemory?: boolean;
	/** A binding to the files of a folder. */
	assets?: { binding: string; folder: string };
	compatibilityDate: string;
	compatibilityFlags?: string[];
	/** Folder of the objects' state. Default: in the folder of the configuration. */
	state?: string;
	/** A folder that is removed if this process is killed. */
	temporary?: string;
	/** The address or name to listen on. Default: loopback. */
	host?: string;
	/** A Unix socket to listen on instead of the port, if a connection guard listens on the port. */
	unixSocket?: string;
	/** Its limit of open files. Absent: unchanged. */
	openFiles?: number;
	/** The limit of each file's size, in blocks of 512 bytes. A write above it fails. */
	fileBlocks?: number;
	/** Unix sockets of its other entrypoints. */
	entrypointSockets?: readonly EntrypointSocket[];
	/** Bindings to entrypoints of other processes, at their Unix sockets. */
	services?: readonly ServiceBinding[];
	/** The address that receives all outgoing requests instead of their hosts, which are in the header `host`. */
	outbound?: string | undefined;
	/** It does not keep this process running, and ends with it. */
	isBackground?: boolean;
	/** It has no network. */
	isOffline?: boolean;
	/** A command that starts the runtime, for example strace. `pid` is its process. */
	wrapper?: readonly string[];
	/** Runs in its own process group, so that it does not receive a terminal's Ctrl-C. */
	detached?: boolean;
	/** Options of V8. */
	v8Flags?: readonly string[];
	/** Receives its output: an open file. Default: the output of this process. */
	log?: Writable;
	/** Receives its output instead of `log`. `ended` then waits until both streams are read. */
	onOutput?(stdout: Readable, stderr: Readable): void;
	/** Port of the Chrome DevTools protocol. */
	inspectorPort?: number;
}

interface EntrypointSocket {
	entrypoint: string;
	path: string;
	/** It also accepts calls of the entrypoint's methods. A stop waits until their callers have disconnected. */
	acceptsCalls?: boolean;
}

interface ServiceBinding {
	name: string;
	/** The Unix socket of an entrypoint. */
	path: string;
	/** The binding has the entrypoint's methods. The socket must accept calls. */
	calls?: boolean;
}

export interface Served {
	name: string;
	url: string;
	pid: number;
	/** Resolves when it has exited, with its exit code or its signal. */
	ended: Promise<number | NodeJS.Signals>;
	/** Stops it immediately. */
	stop(): Promise<void>;
}

/** The types of the module do not match its default export. */
const { default: workerd }: { default: string } = createRequire(import.meta.url)("workerd");

const START_MS = 60_000;
const RETRY_MS = 5;
const LOOPBACK = "127.0.0.1";
/** Hosts that mean all addresses of the machine, and an address to connect to. */
const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": LOOPBACK, "::": "::1" };

export const singleModule = (file: string): WorkerSpec["modules"] => [{ name: "index.js", file }];

/**
 * The path by which a configuration in `folder` reads a file, with slashes on each platform. Nothing: none leads there, because the file is on
 * another drive of Windows.
 */
export function embeddedPath(folder: string, file: string, path = nodePath): string | undefined {
	const relative = path.relative(folder, file);
	return path.isAbsolute(relative) ? undefined : relative.replaceAll(path.sep, "/");
}

/** Strings of workerd's configuration language have JSON's syntax. */
const text = (value: string): string => JSON.stringify(value);

/** @param folder an empty folder for the configuration and the state. @param cpu the only core that it may use, on Linux. */
export async function serve(spec: WorkerSpec, port: number, folder: string, cpu?: number): Promise<Served> {
	const { host = LOOPBACK, secrets = {}, state = join(folder, "state") } = spec;
	mkdirSync(state, { recursive: true });
	const config = join(folder, "config.capnp");
	writeFileSync(config, capnp(spec, { port, state, folder }));
	const pinned = cpu !== undefined && process.platform === "linux";
	const inspector =
		spec.inspectorPort === undefined ? [] : ["--inspector-addr", `127.0.0.1:${spec.inspectorPort}`];
	const command = [
		...(spec.wrapper ?? []),
		...(spec.fileBlocks === undefined
			? []
			: ["/bin/sh", "-c", `trap '' XFSZ; ulimit -f "$0"; exec "$@"`, String(spec.fileBlocks)]),
		...withFileLimit(spec.openFiles, [workerd, "serve", ...inspector, config]),
	];
	const [program = "", ...args] = pinned ? ["taskset", "-c", String(cpu), ...command] : command;
	const log = spec.onOutput ? "pipe" : (spec.log ?? "inherit");
	const env = { ...process.env, ...secrets };
	const { detached = false } = spec;
	const child = spawn(program, args, { stdio: ["ignore", log, log], env, detached });
	endWithThisProcess(child, spec.temporary);
	if (spec.isBackground) {
		child.unref();
		killAtExit(child);
	}
	const ended = new Promise<number | NodeJS.Signals>((resolve) =>
		child.once(spec.onOutput ? "close" : "exit", (code, signal) => resolve(signal ?? code ?? 1)),
	);
	if (child.stdout && child.stderr) spec.onOutput?.(child.stdout, child.stderr);
	// The runtime opens its sockets one after the other.
	const addresses: Address[] = [
		spec.unixSocket ?? { port, host: EVERYWHERE[host] ?? host },
		...(spec.entrypointSockets ?? []).map(({ path }) => path),
	];
	await Promise.all(addresses.map((address) => listening(address, child))).catch(async (error) => {
		await stop(child);
		throw error;
	});
	// taskset replaces itself with the command, so the process id is the runtime's.
	return {
		name: spec.name,
		url: `http://${bracketed(EVERYWHERE[host] ?? host)}:${port}`,
		pid: child.pid ?? 0,
		ended,
		stop: () => stop(child),
	};
}

const background = new Set<ChildProcess>();

/** One listener for all: a process that converts documents may start thousands of them. */
function killAtExit(child: ChildProcess): void {
	if (background.size === 0) process.on("exit", killBackground);
	background.add(child);
	child.once("exit", () => {
		background.delete(child);
		if (background.size === 0) process.off("exit", killBackground);
	});
}

function killBackground(): void {
	for (const child of background) child.kill("SIGKILL");
}

/** Methods of an entrypoint in another process are called by Cap'n Proto, on a connection that begins with a request of this host. */
const httpOptions = (calls = false): string => (calls ? `(capnpConnectHost = "calls")` : "()");

const socketOf = ({ entrypoint, path, acceptsCalls }: EntrypointSocket): string =>
	`(name = ${text(entrypoint)}, address = ${text(`unix:${path}`)}, http = ${httpOptions(acceptsCalls)}, service = (name = "main", entrypoint = ${text(entrypoint)})),\n`;

const serviceOf = ({ name, path, calls }: ServiceBinding): string =>
	`(name = ${text(name)}, external = (address = ${text(`unix:${path}`)}, http = ${httpOptions(calls)})),\n`;

const certificates = (): string => trustedCertificates(process.env.NODE_EXTRA_CA_CERTS).map(text).join(", ");

const networkOf = (allowed: string, { outbound, isOffline = false }: WorkerSpec): string =>
	outbound === undefined
		? `network = (allow = [${isOffline ? "" : allowed}], tlsOptions = (trustBrowserCas = true, trustedCertificates = [${certificates()}]))`
		: `external = (address = ${text(outbound)}, http = ())`;

/** Puts brackets around an IPv6 address, for use before a port. */
const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

/** `folder`: of the configuration. Modules are read where they are, if a relative path leads there. */
function capnp(
	spec: WorkerSpec,
	{ port, state, folder }: { port: number; state: string; folder: string },
): string {
	const { vars = {}, secrets = {}, objects = [], host = LOOPBACK, entrypointSockets = [] } = spec;
	const { assets, compatibilityDate, compatibilityFlags = [], objectsInMemory = false, services = [] } = spec;
	const { v8Flags = [] } = spec;
	const address = spec.unixSocket === undefined ? `${bracketed(host)}:${port}` : `unix:${spec.unixSocket}`;
	const modules = spec.modules.map(({ name, file }) => {
		const copy = `modules/${name}`;
		const path = embeddedPath(folder, file);
		if (path === undefined) cpSync(file, join(folder, copy));
		return `(name = ${text(name)}, ${isWasm(name) ? "wasm" : "esModule"} = embed ${text(path ?? copy)})`;
	});
	const bindings = [
		...Object.entries(vars).map(([name, value]) =>
			typeof value === "string"
				? `(name = ${text(name)}, text = ${text(value)})`
				: `(name = ${text(name)}, json = ${text(JSON.stringify(value))})`,
		),
		...Object.keys(secrets).map((name) => `(name = ${text(name)}, fromEnvironment = ${text(name)})`),
		...objects.map(
			({ name, class_name }) => `(name = ${text(name)}, durableObjectNamespace = ${text(class_name)})`,
		),
		...(assets ? [`(name = ${text(assets.binding)}, service = "assets")`] : []),
		...services.map(({ name }) => `(name = ${text(name)}, service = ${text(name)})`),
	];
	// Custom providers of accounts use it: a public name that resolves to a private address is refused.
	bindings.push(`(name = "PUBLIC_INTERNET", service = "public-internet")`);
	const namespaces = objects.map(
		({ class_name }) =>
			`(className = ${text(class_name)}, uniqueKey = ${text(class_name)}, enableSql = true)`,
	);
	return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		(name = "main", worker = .main),
		(name = "internet", ${networkOf('"public", "private"', spec)}),
		(name = "public-internet", ${networkOf('"public"', spec)}),
		(name = "state", disk = (path = ${text(state)}, writable = true)),
		${assets ? `(name = "assets", disk = (path = ${text(assets.folder)})),` : ""}
		${services.map(serviceOf).join("")}
	],
	sockets = [
		(name = "http", address = ${text(address)}, http = (), service = "main"),
		${entrypointSockets.map(socketOf).join("")}
	],
	${v8Flags.length > 0 ? `v8Flags = [${v8Flags.map(text).join(", ")}],` : ""}
);
const main :Workerd.Worker = (
	modules = [${modules.join(", ")}],
	compatibilityDate = ${text(compatibilityDate)},
	compatibilityFlags = [${compatibilityFlags.map(text).join(", ")}],
	bindings = [${bindings.join(", ")}],
	durableObjectNamespaces = [${namespaces.join(", ")}],
	${objects.length > 0 ? `durableObjectStorage = ${objectsInMemory ? "(inMemory = void)" : '(localDisk = "state")'},` : ""}
	globalOutbound = "internet",
);
`;
}

type Address = string | { port: number; host?: string };

export async function listening(address: Address, child: ChildProcess): Promise<void> {
	const until = performance.now() + START_MS;
	while (performance.now() < until) {
		if (hasEnded(child))
			throw new Error(`it ended with ${child.exitCode ?? child.signalCode} before it listened`);
		if (await connects(address)) return;
		await wait(RETRY_MS);
	}
	throw new Error(`nothing listens on ${typeof address === "string" ? address : `port ${address.port}`}`);
}

const connects = (address: Address): Promise<boolean> =>
	new Promise((resolve) => {
		const socket =
			typeof address === "string"
				? createConnection(address)
				: createConnection({ host: LOOPBACK, ...address });
		socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
		socket.once("connect", () => socket.destroy());
	});
