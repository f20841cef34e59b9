// What the page around the JavaScript of the READMEs has: a button by the name that each gives it.
declare const button: HTMLButtonElement;
declare const payButton: HTMLButtonElement;
