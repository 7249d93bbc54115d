// A NestJS server whose handler awaits a task: curl 'localhost:3000/shipping/DE?grams=1200'
import 'reflect-metadata'
import {
  type ArgumentsHost, Catch, Controller, type ExceptionFilter, Get, Injectable, Logger, Module, type OnApplicationShutdown, Param, Query, Req, Res,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Request, Response } from 'express'
import { Hub, HubError } from 'pshub'
import { callOptionsOf, sendProblem } from 'pshub/http'

// One for the process. Nest calls this after open requests are answered.
@Injectable()
export class Tasks extends Hub implements OnApplicationShutdown {
  constructor() {
    super({ name: 'nest' })
  }

  onApplicationShutdown(): Promise<void> {
    return this.close()
  }
}

@Controller('shipping')
export class ShippingController {
  constructor(private readonly tasks: Tasks) {}

  @Get(':country')
  cost(
    @Param('country') country: string,
    @Query('grams') grams: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<unknown> {
    // Values that are not numbers are passed on unchanged, so that the schema of the task rejects them.
    const args = { country, grams: /^\d+$/.test(grams) ? Number(grams) : grams }
    // A visitor who leaves cancels the call; `pshub-timeout-ms` shortens it.
    return this.tasks.call('shipping_cost:1.0', args, callOptionsOf(request, { timeoutMs: 2000, response }))
  }
}

// Errors that are not from a call are left to Nest.
@Catch(HubError)
export class HubErrorFilter implements ExceptionFilter {
  catch(error: HubError, host: ArgumentsHost): void {
    sendProblem(host.switchToHttp().getResponse<Response>(), error)
    if (error.status >= 500) Logger.error(error)
  }
}

@Module({ providers: [Tasks], controllers: [ShippingController] })
export class AppModule {}

const main = async (): Promise<void> => {
  const app = await NestFactory.create(AppModule)
  app.useGlobalFilters(new HubErrorFilter())
  app.enableShutdownHooks()
  await app.listen(Number(process.env.PORT ?? 3000))
  console.log(`listening on ${new URL(await app.getUrl()).port}`)
}

void main()
