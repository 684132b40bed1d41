/** Saves a text as a file of the browser. */
export function saveText(name: string, text: string): void {
	const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
	const link = document.createElement("a");
	link.href = address;
	link.download = name;
	link.click();
	URL.revokeObjectURL(address);
}
