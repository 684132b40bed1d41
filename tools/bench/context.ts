/** What all scenarios share: the settings of a run, the start of a contender, and the usual chat. */
import type { Contender, ContenderName, Field, GanglionOptions } from "./contenders.ts";

export interface Context {
	field: Field;
	/** Seconds of load in one round. */
	seconds: number;
	rounds: number;
	say(text: string): void;
}

export const CHAT = { messages: [{ role: "user", content: "What is the answer to everything?" }] };

/** The usual chat as a stream, with its usage. */
export const STREAMED_CHAT = { ...CHAT, stream: true, stream_options: { include_usage: true } };

export async function start(
	{ field }: Context,
	name: ContenderName,
	options?: GanglionOptions,
): Promise<Contender> {
	const contender = await field.start(name, options);
	if (!contender) throw new Error(`${name} cannot be started`);
	return contender;
}

type Stoppable = Pick<Contender, "stop">;

/** Starts two contenders or gateways, one after the other. If the second cannot be started, the first is stopped. */
export async function startBoth<T extends Stoppable>(
	first: () => Promise<T>,
	second: () => Promise<T>,
): Promise<[T, T]> {
	const started = await first();
	try {
		return [started, await second()];
	} catch (error) {
		await started.stop();
		throw error;
	}
}

export async function stopAll(started: readonly Stoppable[]): Promise<void> {
	await Promise.all(started.map((each) => each.stop()));
}
