/** The two files of an adapter, as a form gets them. */

export const FILES = ["adapter_config.json", "adapter_model.safetensors"] as const;

export type AdapterFiles = Readonly<Partial<Record<(typeof FILES)[number], File>>>;

/** Those among the files that an adapter has, beside those that were chosen before. */
export const chosenOf = (before: AdapterFiles, files: Iterable<File>): AdapterFiles => {
	const named = [...files].flatMap((file) => {
		const name = FILES.find((one) => one === file.name);
		return name ? [[name, file] as const] : [];
	});
	return { ...before, ...Object.fromEntries(named) };
};
