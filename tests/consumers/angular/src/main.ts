import { afterNextRender, Component, type ElementRef, viewChild } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { call } from "./calls.js";

@Component({ selector: "app-root", template: `<pre id="shown" #shown></pre>` })
class App {
  readonly shown = viewChild.required<ElementRef<HTMLElement>>("shown");

  constructor() {
    afterNextRender(() => void call(this.shown().nativeElement));
  }
}

void bootstrapApplication(App);
