/** The commands that call a running gateway. */
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError } from "commander";
import { cannotBeRead } from "../scripts/file-failure.ts";
import { PERMISSION_GROUPS } from "../src/accounts/token-policy.ts";
import type { Defaults } from "./config-location.ts";
import { connected, type Finish, reaching } from "./connected.ts";
import { readCount } from "./flags.ts";
import { retrievalCommands } from "./retrieval-commands.ts";

const PERMISSION = "Workers AI Read";
export function clientCommands(ganglion: Command, defaults: Defaults, finish: Finish): void {
	ganglion.commandsGroup("Use a gateway:");
	reaching(ganglion.command("try"))
		.description("stream the answer of a text model to the terminal")
		.argument("<model>", "such as @cf/meta/llama-3.3-70b-instruct-fp8-fast")
		.argument("<prompt>")
		.option("--system <text>", "instructions before the prompt")
		.option("--max-tokens <n>", "longest answer", readCount)
		.option(
			"--file <file>",
			"a document, whose Markdown is before the prompt; may be repeated",
			(file, earlier: string[] = []) => [...earlier, file],
		)
		.action(async (model: string, prompt: string, flags) => {
			const { tryCommand } = await import("./commands/try.ts");
			finish(await tryCommand(model, prompt, { flags, defaults }));
		});
	const models = connected(ganglion.command("models"))
		.description("list the catalogue of a gateway, or manage the weights on this machine")
		.helpCommand(false)
		.argument("[search]", "words in the name, the description or the task")
		.option("--task <name>", 'models of one task, such as "Text Generation"')
		.action(async (search: string | undefined, flags) => {
			const { modelsCommand } = await import("./commands/models.ts");
			finish(await modelsCommand(search, flags));
		});
	weightCommands(models, finish);
	connected(ganglion.command("explain"))
		.description("show which engines would serve a request, and what it would cost")
		.argument("<model>")
		.argument("[prompt]", "a text", "Hello")
		.option("--body <json>", "the body of a run: JSON, or @FILE", readBody)
		.action(async (model: string, prompt: string, flags) => {
			const { explainCommand } = await import("./commands/explain.ts");
			finish(await explainCommand(model, prompt, flags));
		});
	connected(ganglion.command("usage"))
		.description("show what the account used, and what it cost")
		.option("--from <day>", "first day, YYYY-MM-DD (UTC)")
		.option("--to <day>", "last day")
		.option("--by <names>", "groups: day, model, task, token, backend", "day,model")
		.action(async (flags) => {
			const { usageCommand } = await import("./commands/usage.ts");
			finish(await usageCommand(flags));
		});
	batchCommands(
		ganglion.command("batch").description("run files of requests that may wait").helpCommand(false),
		finish,
	);
	connected(ganglion.command("replay"))
		.description("send requests of a gateway's log to another model, and compare the answers")
		.argument("[model]", "the other model")
		.option("--gateway <id>", "the gateway of the log", "default")
		.option("--judge <model>", "a model that scores the answers from 0 (worse) to 1 (better)")
		.option("--limit <n>", "logs at most, 1 to 1000 (default: 100)", readCount)
		.option("--oldest", "the oldest logs, instead of the newest")
		.option("--search <text>", "a part of the metadata")
		.option(
			"--filter <filter>",
			"such as model=gpt-5, cost>0.01, metadata.value=blue; = != < > ~ (contains); may be repeated",
			(filter, earlier: string[] = []) => [...earlier, filter],
		)
		.option("--id <replay>", "show a replay that exists")
		.action(async (model: string | undefined, flags) => {
			const { replayCommand } = await import("./commands/replay.ts");
			finish(await replayCommand(model, flags));
		});
	retrievalCommands(ganglion, defaults, finish);
	const accounts = ganglion
		.command("accounts")
		.description("move accounts between the objects of a gateway, or delete their data")
		.helpCommand(false);
	connected(accounts.command("delete"))
		.description("delete all data of an account")
		.argument("<id>", "the account")
		.option("--yes", "do it: nothing can be restored")
		.action(async (id: string, flags) => {
			const { deleteAccount } = await import("./commands/delete-account.ts");
			finish(await deleteAccount(id, flags));
		});
	connected(accounts.command("move"))
		.description("move all accounts to the shards of the present settings, or one with --account")
		.option("--own", "give the account an object of its own")
		.action(async (flags) => {
			const { moveAccounts } = await import("./commands/accounts.ts");
			finish(await moveAccounts(flags));
		});
	tokenCommands(
		ganglion.command("token").description("create, list and revoke tokens of the account").helpCommand(false),
		finish,
	);
}

/** They work without a gateway. */
function weightCommands(models: Command, finish: Finish): void {
	const names = "an id of the catalogue, or the name of weights";
	models
		.command("pull")
		.description(
			"download weights, or check the hashes of those that are here; the project's lock decides which files",
		)
		.argument("[name...]", `${names}; without one, those of the project's lock`)
		.option("--accept-licence", "accept the licences that ask for it")
		.option("--ignore-memory", "also weights that need more memory than this machine has")
		.action(async (list: string[], flags) => {
			const { pullCommand } = await import("./commands/weights.ts");
			finish(await pullCommand(list, flags));
		});
	models
		.command("list")
		.description("list the weights, and which of them are on this machine")
		.option("--json", "print JSON")
		.action(async (_flags, command: Command) => {
			const { listCommand } = await import("./commands/weights.ts");
			finish(listCommand(command.optsWithGlobals()));
		});
	models
		.command("rm")
		.description("delete weights from this machine")
		.argument("<name...>", names)
		.action(async (list: string[]) => {
			const { removeCommand } = await import("./commands/weights.ts");
			finish(removeCommand(list));
		});
	models
		.command("lock")
		.description("write which files the weights have, for the project's other machines")
		.argument("[name...]", `${names}; without one, those of the lock, or all that are here`)
		.action(async (list: string[]) => {
			const { lockCommand } = await import("./commands/weights.ts");
			finish(lockCommand(list));
		});
	models
		.command("prune")
		.description("delete partial downloads and files of older revisions")
		.action(async () => {
			const { pruneCommand } = await import("./commands/weights.ts");
			finish(pruneCommand());
		});
}

function batchCommands(batch: Command, finish: Finish): void {
	const results = (command: Command): Command =>
		connected(command)
			.option("--output <file>", "for the answers (default: FILE.output.jsonl)")
			.option("--errors <file>", "for the lines that failed (default: FILE.errors.jsonl)");
	results(batch.command("run"))
		.description("upload a file of JSON lines, run it as a batch, and store the results")
		.argument("<file>", "requests in the format of OpenAI's batches")
		.action(async (file: string, flags) => {
			const { runBatch } = await import("./commands/batch.ts");
			finish(await runBatch(file, flags));
		});
	results(batch.command("watch"))
		.description("watch a batch to its end, and store the results")
		.argument("<batch>", "its id")
		.action(async (id: string, flags) => {
			const { watchBatch } = await import("./commands/batch.ts");
			finish(await watchBatch(id, flags));
		});
}

function tokenCommands(token: Command, finish: Finish): void {
	connected(token.command("create"))
		.description("create a token, and print it")
		.argument("<name>")
		.option(
			"--permission <group>",
			`${PERMISSION_GROUPS.map(({ name: group }) => group).join(", ")}; may be repeated (default: "${PERMISSION}")`,
			(group, earlier: string[] = []) => [...earlier, group],
		)
		.option("--expires <time>", "such as 2027-01-01T00:00:00Z")
		.option("--daily-neurons <n>", "budget per day", readCount)
		.option("--monthly-neurons <n>", "budget per month", readCount)
		.option("--requests-per-minute <n>", "rate", readCount)
		.action(async (name: string, flags) => {
			const { createToken } = await import("./commands/token.ts");
			finish(await createToken(name, { permission: [PERMISSION], ...flags }));
		});
	connected(token.command("list"))
		.description("list the tokens of the account")
		.action(async (flags) => {
			const { listTokens } = await import("./commands/token.ts");
			finish(await listTokens(flags));
		});
	connected(token.command("revoke"))
		.description("delete a token: it stops working at once")
		.argument("<token>", "its id or its name")
		.action(async (id: string, flags) => {
			const { revokeToken } = await import("./commands/token.ts");
			finish(await revokeToken(id, flags));
		});
}

/** JSON, or `@` and the name of a file with JSON. */
function readBody(text: string): unknown {
	try {
		return JSON.parse(text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text);
	} catch (error) {
		throw new InvalidArgumentError(
			error instanceof SyntaxError ? error.message : cannotBeRead(text.slice(1), error),
		);
	}
}
