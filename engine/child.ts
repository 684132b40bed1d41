/**
 * The process of one model. It loads the model, runs batches one after the other, and ends with its parent. A run of an encoder can only be
 * ended by ending the process, which is why each model has one of its own.
 */
import { modelFailure } from "./failure.ts";
import { ownFault } from "./fault.ts";
import type { FailureCause, FromProcess, ToProcess } from "./model.ts";
import { type LoadedModel, loadModel } from "./tasks.ts";

const send = (message: FromProcess): void => void process.send?.(message);

const causeOf = (error: unknown): FailureCause => ({ message: modelFailure(error), fault: ownFault(error) });

let model: LoadedModel | undefined;
const interrupts = new Map<number, () => void>();

async function run(id: number, items: Extract<ToProcess, { kind: "run" }>["items"]): Promise<void> {
	try {
		if (!model) throw new Error("no model is loaded");
		const results = await model.run(items, {
			token: () => send({ kind: "token", id }),
			onCancel: (interrupt) => interrupts.set(id, interrupt),
		});
		send({ kind: "done", id, results });
	} catch (error) {
		send({ kind: "failed", id, ...causeOf(error) });
	} finally {
		interrupts.delete(id);
	}
}

process.on("message", (message: ToProcess) => {
	switch (message.kind) {
		case "load":
			loadModel(message.model, message.threads, (part) => send({ kind: "progress", part })).then(
				(loaded) => {
					model = loaded;
					send({ kind: "loaded" });
				},
				(error: unknown) => send({ kind: "unreadable", ...causeOf(error) }),
			);
			break;
		case "run":
			void run(message.id, message.items);
			break;
		case "cancel":
			interrupts.get(message.id)?.();
			break;
	}
});
process.on("disconnect", () => process.exit(0));
// A terminal's Ctrl-C is for the gateway.
process.on("SIGINT", () => {});
