/** `ganglion models pull`, `list`, `rm`, `prune` and `lock`: the weights of this machine, which all projects of its user share. */
import { createInterface } from "node:readline/promises";
import { isHeld } from "../../scripts/local-engine/lock.ts";
import { LocalProblem } from "../../scripts/local-engine/problem.ts";
import { ProgressBar, sizeText } from "../../scripts/local-engine/progress.ts";
import {
	PROJECT_LOCK,
	type ProjectLock,
	readProjectLock,
	writeProjectLock,
} from "../../scripts/local-engine/project-lock.ts";
import { pullWeights } from "../../scripts/local-engine/pull.ts";
import { sourceOf } from "../../scripts/local-engine/sources.ts";
import {
	allPresent,
	modelsFolder,
	type PresentWeights,
	presentWeights,
	pruneStore,
	removeWeights,
} from "../../scripts/local-engine/store.ts";
import {
	approximateSize,
	findWeights,
	type Licence,
	licenceOf,
	memoryOf,
	namesOfWeights,
	WEIGHTS,
	type Weights,
} from "../../scripts/local-engine/table.ts";
import { asQuestion, nearNames } from "../../src/core/did-you-mean.ts";
import { CommandError } from "../gateway-client.ts";
import { printJson, table } from "../table.ts";

interface PullFlags {
	acceptLicence?: boolean;
	ignoreMemory?: boolean;
}

export async function pullCommand(names: readonly string[], flags: PullFlags): Promise<number> {
	const locked = lockHere();
	if (names.length === 0 && locked.size === 0)
		throw new CommandError(`name the models to download: there is no ${PROJECT_LOCK} here`);
	const rows = (names.length > 0 ? names : [...locked.keys()]).map(rowOf);
	const interrupt = new AbortController();
	const onSignal = (): void => interrupt.abort();
	for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onSignal);
	for (const weights of rows) {
		const bar = new ProgressBar(weights.name, process.stderr);
		try {
			const { size, manifest } = await pullWeights(weights, {
				folder: modelsFolder(process.env),
				source: sourceOf(process.env),
				signal: interrupt.signal,
				report: (progress) => bar.draw(progress),
				accept: (licence) => flags.acceptLicence ?? ask(weights, licence),
				locked: locked.get(weights.name),
				checkHashes: true,
				ignoreMemory: flags.ignoreMemory ?? false,
			});
			bar.end();
			console.log(
				`${weights.name} is complete: ${sizeText(size)}, ${manifest.repository}@${manifest.revision}`,
			);
		} catch (error) {
			bar.end();
			if (interrupt.signal.aborted)
				throw new CommandError("interrupted: the part is kept, and the same command continues it");
			throw asCommandError(error);
		}
	}
	return 0;
}

async function ask({ name }: Weights, { name: licence, accept }: Licence): Promise<boolean> {
	if (!process.stdin.isTTY) return false;
	const terminal = createInterface({ input: process.stdin, output: process.stderr });
	try {
		const answer = await terminal.question(
			`${name} has the licence "${licence}":\n  ${accept}\nDo you accept it? [y/N] `,
		);
		return /^y(?:es)?$/i.test(answer.trim());
	} finally {
		terminal.close();
	}
}

export function listCommand({ json }: { json?: boolean }): number {
	const folder = modelsFolder(process.env);
	const rows = WEIGHTS.map((weights) => {
		const present = presentWeights(folder, weights);
		const size = present?.size ?? approximateSize(weights);
		const { name: licence } = licenceOf(weights);
		const { name, repository, relation, serves } = weights;
		return {
			...{ name, relation, size, memory: memoryOf(size), licence, repository, serves },
			...(present && { revision: present.manifest.revision }),
			present: present !== undefined,
		};
	});
	if (json) printJson({ folder, models: rows });
	else {
		console.log(`Weights in ${folder}\n`);
		console.log(
			table(
				["MODEL", "HERE", "SIZE", "MEMORY", "WEIGHTS", "LICENCE"],
				rows.map(({ name, present, size, memory, relation, licence }) => [
					...[name, present ? "yes" : "", sizeText(size), sizeText(memory), relation, licence],
				]),
			),
		);
		console.log(
			"\nSizes of models that are not here are approximate. A sibling answers for other models of its task.",
		);
	}
	return 0;
}

/** Without names: those that the lock has, or all that are here. */
export function lockCommand(names: readonly string[]): number {
	const folder = modelsFolder(process.env);
	const earlier = lockHere();
	const wanted = names.length > 0 ? names : [...earlier.keys()];
	const present = wanted.length === 0 ? allPresent(folder) : wanted.map((name) => presentRow(folder, name));
	if (present.length === 0) throw new CommandError(`${folder} has no weights: npx ganglion models pull NAME`);
	const path = writeProjectLock(process.cwd(), earlier, present);
	for (const { weights, manifest } of present)
		console.log(`${weights.name} is ${manifest.repository}@${manifest.revision} in ${path}`);
	return 0;
}

function presentRow(folder: string, name: string): PresentWeights {
	const weights = rowOf(name);
	const present = presentWeights(folder, weights);
	if (present) return present;
	throw new CommandError(`${weights.name} is not here: npx ganglion models pull ${weights.name}`);
}

function lockHere(): ProjectLock {
	try {
		return readProjectLock(process.cwd(), Date.now());
	} catch (error) {
		throw asCommandError(error);
	}
}

export function removeCommand(names: readonly string[]): number {
	const folder = modelsFolder(process.env);
	for (const weights of names.map(rowOf)) {
		const bytes = removeWeights(folder, weights);
		console.log(
			bytes > 0 ? `${weights.name} is removed: ${sizeText(bytes)} are free` : `${weights.name} is not here`,
		);
	}
	return 0;
}

export function pruneCommand(): number {
	const removed = pruneStore(modelsFolder(process.env), isHeld);
	for (const { path } of removed) console.log(path);
	const bytes = removed.reduce((sum, each) => sum + each.bytes, 0);
	console.log(removed.length > 0 ? `${sizeText(bytes)} are removed` : "There is nothing to remove");
	return 0;
}

function rowOf(name: string): Weights {
	const found = findWeights(name, Date.now());
	if (found) return found;
	const names = WEIGHTS.flatMap((row) => namesOfWeights(row).map((one) => ({ name: one, row })));
	const near = new Set(nearNames(name, names, (one) => one.name).map(({ row }) => row.name));
	const guess = near.size > 0 ? asQuestion(...[...near].slice(0, MAX_GUESSES)) : ".";
	throw new CommandError(`no weights are known for ${name}${guess} All names: npx ganglion models list`);
}

const MAX_GUESSES = 3;

const asCommandError = (error: unknown): unknown =>
	error instanceof LocalProblem ? new CommandError(error.message) : error;
