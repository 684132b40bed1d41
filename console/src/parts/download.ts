/** Saves a text as a file of the browser. */
export const saveText = (name: string, text: string): void =>
	saveBlob(name, new Blob([text], { type: "text/csv" }));

/** Saves bytes as a file of the browser. */
export function saveBlob(name: string, blob: Blob): void {
	const address = URL.createObjectURL(blob);
	const link = document.createElement("a");
	link.href = address;
	link.download = name;
	link.click();
	URL.revokeObjectURL(address);
}
