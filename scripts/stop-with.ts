/** Prints the message without a stack, and ends the command. */
export function stopWith(message: string): never {
	console.error(message);
	process.exit(1);
}
