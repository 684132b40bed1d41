/** A mistake in the arguments of a command. The message is for the terminal. */
export class BadArgument extends Error {}

/** Prints the message without a stack, and ends the command. */
export function stopWith(message: string): never {
	console.error(message);
	process.exit(1);
}
